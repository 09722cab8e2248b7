import Testing
import TestSupport
import TraylogLog
@testable import Traylog
@testable import TraylogDomain
@testable import TraylogStates

/// Which events of the tail belong to which stream, against dictionaries.
@Suite struct TailChainsTests {
    @Test(arguments: seeds(4, nightly: 200))
    func aChainHasAllEventsOfItsStream(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var chains = TailChains<UInt64>(after: UInt64(random.below(1_000)))
        var expected: [StreamID: [UInt64]] = [:]
        for _ in 0..<200 {
            append(to: &chains, &expected, &random)
            takeBack(from: &chains, &expected, &random)
            store(&chains, &expected, &random)
            chains.checkInvariants()
        }
        for (stream, seqs) in expected {
            #expect(chains.seqs(of: stream) == seqs)
            #expect(chains.revision(of: stream) == seqs.last.map { UInt32($0) })
            #expect(chains.first(of: stream) == seqs.first ?? 0 && chains.last(of: stream) == seqs.last ?? 0)
            #expect(chains.next(of: stream, after: 0) == seqs.first ?? 0)
            for (seq, next) in zip(seqs, seqs.dropFirst() + [0]) {
                #expect(chains.next(after: seq) == next && chains.next(of: stream, after: seq) == next)
                #expect(chains[seq] == seq &* 3 && chains.link(at: seq) == (seq &* 3, next))
            }
        }
        let values = (chains.start + 1..<chains.end + 1).map { $0 &* 3 }
        #expect(chains.values(from: chains.start + 1).elementsEqual(values))
        #expect(chains.seqs(of: 0) == [] && chains.seqs(of: StreamID(rawValue: .max)) == [])
    }

    /// Events are kept in blocks of some thousand.
    @Test func tailBlocksAreAddedAndReleased() {
        var chains = TailChains<UInt64>(after: 100)
        func add(_ count: Int) -> [(stream: StreamID, previous: UInt64)] {
            (0..<count).map { _ in
                let stream = StreamID(rawValue: UInt32(chains.end % 7) + 1)
                return (stream, chains.append((chains.end + 1) &* 3, to: stream, revision: UInt32(chains.end / 7) + 1))
            }
        }
        func check() {
            chains.checkInvariants()
            let seqs = chains.start + 1..<chains.end + 1
            #expect(chains.values(from: chains.start + 1).elementsEqual(seqs.map { $0 &* 3 }))
            for stream in StreamID.first...StreamID(rawValue: 7) {
                #expect(chains.revision(of: stream) == chains.seqs(of: stream).last.map { UInt32(($0 - 1) / 7) + 1 })
                #expect(chains.seqs(of: stream) == seqs.filter { ($0 - 1) % 7 + 1 == UInt64(stream.rawValue) })
            }
        }
        _ = add(6_000)
        let taken = add(9_000)
        check()
        for event in taken.reversed() { chains.removeLast(of: event.stream, previous: event.previous) }
        #expect(chains.count == 6_000)
        check()
        _ = add(9_000)
        while chains.count > 0 {
            let end = min(chains.start + 2_500, chains.end)
            for stream in StreamID.first...StreamID(rawValue: 7) {
                _ = chains.unchain(stream, through: chains.seqs(of: stream).last { $0 <= end } ?? 0)
            }
            chains.dropThrough(end)
            check()
        }
        #expect(chains.end == 15_100)
        _ = add(5_000)
        check()
    }

    private func append(
        to chains: inout TailChains<UInt64>, _ expected: inout [StreamID: [UInt64]], _ random: inout SeededRandom
    ) {
        for seq in chains.end + 1...chains.end + 1 + UInt64(random.below(30)) {
            // The store's own events are in no chain.
            let stream = random.chance(5) ? 0 : stream(&random)
            chains.append(seq &* 3, to: stream, revision: UInt32(seq))
            if stream != 0 { expected[stream, default: []].append(seq) }
        }
    }

    /// Appends some and takes them back, as a transaction that fails does.
    private func takeBack(
        from chains: inout TailChains<UInt64>, _ expected: inout [StreamID: [UInt64]], _ random: inout SeededRandom
    ) {
        var pending: [(stream: StreamID, previous: UInt64)] = []
        for _ in 0..<random.below(10) {
            let stream = random.chance(5) ? 0 : stream(&random)
            let before = pending.last { $0.stream == stream } == nil ? expected[stream]?.last ?? 0 : nil
            let revision = (chains.revision(of: stream) ?? 0) + 1
            let previous = chains.append(.max, to: stream, revision: revision)
            #expect(stream == 0 || chains.revision(of: stream) == revision)
            #expect(stream == 0 ? previous == 0 : before.map { $0 == previous } ?? true)
            pending.append((stream, previous))
        }
        for event in pending.reversed() { chains.removeLast(of: event.stream, previous: event.previous) }
    }

    /// Takes some chains, and now and then all events through one, out.
    private func store(
        _ chains: inout TailChains<UInt64>, _ expected: inout [StreamID: [UInt64]], _ random: inout SeededRandom
    ) {
        for _ in 0..<random.below(4) {
            let stream = stream(&random)
            let seqs = expected[stream] ?? []
            let end = seqs.isEmpty || random.chance(20) ? chains.end : random.pick(seqs)
            expected[stream]?.removeAll { $0 <= end }
            #expect(chains.unchain(stream, through: end) == !(expected[stream] ?? []).isEmpty)
        }
        guard random.chance(10) else { return }
        let end = chains.start + UInt64(random.below(chains.count + 1))
        for (stream, seqs) in expected {
            _ = chains.unchain(stream, through: seqs.last { $0 <= end } ?? 0)
            expected[stream] = seqs.filter { $0 > end }
        }
        let newest = chains.end
        chains.dropThrough(end)
        #expect(chains.start == end && chains.end == newest)
    }

    /// Neighbours, many events of few, and numbers far away.
    private func stream(_ random: inout SeededRandom) -> StreamID {
        random.chance(80) ? random.stream(1, 300) : random.stream(1, 100_000)
    }
}
