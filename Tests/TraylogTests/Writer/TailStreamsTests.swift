import TestSupport
import Testing

@testable import Traylog

/// Which events of the tail belong to which stream, against dictionaries.
@Suite struct TailStreamsTests {
    @Test(arguments: UInt64(0)..<20)
    func eachStreamHasItsOldestAndNewestEvent(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let start = UInt64(random.below(1_000))
        var streams = TailStreams(after: start)
        var expected: [UInt32: (first: UInt64, last: UInt64)] = [:]
        for seq in start + 1..<start + 3_000 {
            let stream = stream(&random)
            if random.chance(10) {
                let taken = streams.take(stream)
                let there = expected.removeValue(forKey: stream)
                #expect(taken?.first == there?.first && taken?.last == there?.last)
            } else {
                #expect(streams.append(seq, to: stream) == expected[stream]?.last)
                expected[stream] = (expected[stream]?.first ?? seq, seq)
            }
            #expect(streams.first(of: stream) == expected[stream]?.first)
        }
        for (stream, ends) in expected {
            #expect(streams.first(of: stream) == ends.first)
            #expect(streams.take(stream)?.last == ends.last)
        }
        for stream in expected.keys { #expect(streams.first(of: stream) == nil) }
    }

    @Test(arguments: UInt64(0)..<10)
    func chainsHaveTheEventsOfEachStream(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let start = UInt64(random.below(1_000))
        var chains = TailChains(after: start)
        var expected: [UInt32: [UInt64]] = [:]
        var seq = start
        while seq < start + 5_000 {
            var events: ContiguousArray<TailEvent> = []
            for _ in 0...random.below(100) {
                seq += 1
                // The store's own events are in no chain.
                let stream = random.chance(5) ? 0 : stream(&random)
                events.append(TailEvent(seq: seq, stream: stream, kind: .notified))
                if stream != 0 { expected[stream, default: []].append(seq) }
            }
            chains.append(events)
        }
        for (stream, seqs) in expected { #expect(chains.seqs(of: stream) == seqs) }
        #expect(chains.seqs(of: 0) == [] && chains.seqs(of: .max) == [])
    }

    /// Neighbours, many events of few, and numbers far away.
    private func stream(_ random: inout SeededRandom) -> UInt32 {
        UInt32(random.chance(80) ? random.between(1, 300) : random.between(1, 1 << 31 - 1))
    }
}
