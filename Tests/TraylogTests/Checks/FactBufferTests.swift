import Testing
import TestSupport
import TraylogDomain
import TraylogLog
@testable import Traylog
@testable import TraylogFold
@testable import TraylogStates

/// Facts come out of the buffer as they went in, sorted by stream.
@Suite struct FactBufferTests {
    @Test(arguments: seeds(2, nightly: 200))
    func aBufferReturnsEveryFactUnchanged(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var buffer = FactBuffer(firstStream: 3)
        var expected: [StreamID: [(fact: Fact, times: FactTimes)]] = [:]
        for seq in 1...UInt64(random.between(1, 400)) {
            let stream = random.stream(3, 20)
            var fact = Self.fact(seq, &random)
            func time() -> Timestamp? {
                random.chance(20) ? Timestamp(milliseconds: Int64(random.between(-5, 5))) : nil
            }
            let times = FactTimes(due: time(), remindAt: time(), notBefore: time())
            // An edit can set it, and nothing else of it.
            if fact.kind == .edited, times.notBefore != nil { fact.edited.insert(.notBefore) }
            let isFirst = expected[stream] == nil
            #expect(buffer.has(stream) == !isFirst, "seed \(seed)")
            buffer.add(fact, times: times, stream: stream, name: isFirst ? Self.name(stream) : nil)
            expected[stream, default: []].append((fact, times))
        }
        buffer.sort()
        for stream in StreamID(rawValue: 3)...25 {
            let facts = StreamFacts(stream, in: buffer)
            #expect(facts.count == expected[stream]?.count ?? 0, "seed \(seed)")
            guard facts.count > 0 else { continue }
            #expect(facts.name == Self.name(stream), "seed \(seed)")
            for (index, right) in (expected[stream] ?? []).enumerated() {
                #expect(facts.fact(index) == right, "seed \(seed)")
                #expect(facts.fact(withSeq: right.fact.seq) == right.fact, "seed \(seed)")
            }
            #expect(facts.fact(withSeq: 1_000) == nil)
        }
    }

    @Test(arguments: seeds(3, nightly: 100))
    func aBufferIsFullBeforeAPlaceHasTooManyBits(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var buffer = FactBuffer(firstStream: 3, placesAtMost: 2_000)
        var seq: UInt64 = 0
        while buffer.hasRoom {
            seq += 1
            buffer.add(Self.fact(seq, &random), times: FactTimes(), stream: 3, name: seq == 1 ? .user("ann") : nil)
        }
        #expect(max(buffer.words.count, buffer.bytes.count) > 2_000 && seq > 1, "seed \(seed)")
        // One fact takes less than what is left between this bound and 32 bits.
        #expect(max(buffer.words.count, buffer.bytes.count) < 2_000 + 1 << 20)
        #expect(FactBuffer.placesAtMost + 1 << 20 <= Int(UInt32.max))
    }

    @Test func aUsualFactTakesFewBytes() {
        var buffer = FactBuffer(firstStream: 1)
        for seq in 1...UInt64(10_000) {
            var fact = Fact(seq: seq, kind: .notified)
            (fact.thread, fact.category, fact.argument, fact.key) = (
                Identity(rawValue: seq), 2, 3, Identity(rawValue: .max)
            )
            buffer.add(
                fact, times: FactTimes(), stream: StreamID(rawValue: UInt32(1 + seq % 100)),
                name: seq <= 100 ? .user("user\(seq)") : nil)
        }
        #expect(buffer.byteCount <= 10_000 * 61)
    }

    private static func name(_ stream: StreamID) -> StreamName {
        switch stream.rawValue % 3 {
        case 0: .user("a user's name, \(stream)")
        case 1: .topic("é\(stream)")
        default: .erased(stream)
        }
    }

    private static func fact(_ seq: UInt64, _ random: inout SeededRandom) -> Fact {
        var fact = Fact(seq: seq, kind: random.pick(EventKind.allCases))
        func number() -> UInt64 { random.chance(50) ? 0 : random.next() }
        func name() -> Identity { Identity(rawValue: number()) }
        fact.isSilent = random.chance(30)
        fact.isUnthreaded = random.chance(30)
        fact.mark = UInt8(random.between(0, 31))
        fact.edited = ContentFields(rawValue: UInt16(random.between(0, 511)))
        (fact.isCritical, fact.hasActions, fact.reminds) = (random.chance(30), random.chance(30), random.chance(30))
        fact.isScheduled = random.chance(30)
        fact.summaryCount = random.chance(20) ? .max : 1
        fact.revision = random.chance(20) ? .max : UInt32(random.below(1_000))
        (fact.thread, fact.category, fact.argument) = (name(), name(), name())
        (fact.collapse, fact.key, fact.target) = (name(), name(), number())
        if random.chance(20) { fact.items = (0..<random.between(1, 30)).map { _ in random.next() } }
        return fact
    }
}
