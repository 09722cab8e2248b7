import TestSupport
import Testing
import TraylogDomain
import TraylogLog

@testable import Traylog
@testable import TraylogWriter

/// The tail against arrays of all facts.
@Suite struct LogTailTests {
    @Test(arguments: UInt64(0)..<20)
    func theTailReturnsEveryFactUnchanged(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var tail = LogTail(after: 0)
        var facts: [(fact: Fact?, stream: StreamID)] = []
        var lastOfTopics: [UInt64] = []
        for _ in 0..<1_000 {
            switch random.below(100) {
            case 0:
                let kept = UInt64(random.between(Int(tail.head.seq), facts.count))
                tail.unlink(from: kept + 1)
                facts.removeSubrange(Int(kept)...)
                lastOfTopics.removeAll { $0 > kept }
            case 1..<10:
                tail.publish(head(facts.count))
            case 10:
                let seq = UInt64(random.between(0, Int(tail.head.seq)))
                for stream in StreamID.first...9 {
                    let last = facts[..<Int(seq)].lastIndex { $0.stream == stream } ?? -1
                    tail.flushed(stream, through: UInt64(last + 1), isNewest: true)
                }
                tail.dropThrough(seq)
            default:
                let stream = random.stream(1, 9)
                let topic = stream > 7 ? Identity(rawValue: UInt64(stream.rawValue)) : nil
                let fact = fact(seq: UInt64(facts.count + 1), &random)
                if let fact {
                    tail.append(fact, to: stream, revision: UInt32(facts.count + 1), topic: topic)
                } else {
                    tail.appendUnread(to: stream, revision: UInt32(facts.count + 1), topic: topic)
                }
                facts.append((fact, stream))
                if stream > 7 { lastOfTopics.append(UInt64(facts.count)) }
            }
            #expect(tail.count == Int(tail.head.seq) - Int(tail.first) + 1)
            #expect(tail.lastTopicEvent == lastOfTopics.last ?? 0)
            #expect(tail.hasPendingTopicEvents == (lastOfTopics.last ?? 0 > tail.head.seq))
        }
        tail.checkInvariants()
        let after = UInt64(random.between(Int(tail.first) - 1, facts.count))
        let heard = tail.topicEvents(after: after, through: UInt64(facts.count) - 1)
        #expect(heard?.map(\.seq) == lastOfTopics.filter { $0 > after && $0 < UInt64(facts.count) })
        #expect(
            heard?.allSatisfy { facts[Int($0.seq) - 1].stream == StreamID(rawValue: UInt32($0.topic.rawValue)) }
                ?? false)
        #expect(tail.first == 1 || tail.topicEvents(after: tail.first - 2, through: .max) == nil)
        for seq in tail.first..<UInt64(facts.count + 1) { #expect(tail.fact(seq) == facts[Int(seq - 1)].fact) }
        #expect(tail.first == 1 || tail.fact(tail.first - 1) == nil)
        for stream in StreamID.first...9 {
            let seqs = (tail.first..<UInt64(facts.count + 1)).filter { facts[Int($0 - 1)].stream == stream }
            #expect(tail.last(of: stream) == seqs.last ?? 0)
            #expect(tail.hasPending(stream) == (seqs.last ?? 0 > tail.head.seq))
            #expect(tail.unstored.contains(stream) == seqs.contains { $0 <= tail.head.seq })
        }
    }

    @Test func aStateWithoutNewEventsStaysListedForStoring() {
        var tail = LogTail(after: 0)
        tail.store(3)
        #expect(tail.unstored.contains(3) && tail.count == 0)
        tail.flushed(3, through: 7, isNewest: true)
        #expect(!tail.unstored.contains(3))
    }

    @Test(arguments: UInt64(0)..<20)
    func keysAreFoundAlongAChain(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var tail = LogTail(after: 0)
        var chain: [Fact] = []
        var others: [UInt64] = []
        for seq in UInt64(1)...300 {
            var fact = fact(seq: seq, &random) ?? Fact(seq: seq, kind: .muted)
            fact.key = random.chance(30) ? Identity(rawValue: UInt64(random.between(1, 5))) : .absent
            let isTheirs = random.chance(20)
            tail.append(fact, to: isTheirs ? 1 : 2, revision: UInt32(seq))
            if isTheirs { chain.append(fact) } else { others.append(seq) }
        }
        tail.publish(head(300))
        tail.flushed(1, through: chain[3].seq, isNewest: true)
        tail.flushed(2, through: others.last { $0 < chain[3].seq } ?? 0, isNewest: true)
        tail.dropThrough(chain[3].seq)
        #expect(tail.first(of: 1) == chain[4].seq)
        for key in (UInt64(1)...6).map(Identity.init(rawValue:)) {
            let found = try #require(tail.carriers(of: key, from: chain[4].seq))
            #expect(found.seqs == chain[4...].filter { $0.key == key }.map(\.seq))
            #expect(found.looked == chain.count - 4)
        }
        var keys: [Identity] = []
        tail.forEachKey { keys.append($0) }
        #expect(keys.count <= 300 && chain[4...].allSatisfy { $0.key == 0 || keys.contains($0.key) })
    }

    @Test func anEventThatMustBeReadHidesItsKey() {
        var tail = LogTail(after: 0)
        tail.appendUnread(to: 1, revision: 1)
        #expect(tail.carriers(of: 1, from: 1)?.looked == nil)
        #expect(tail.carriers(of: 1, from: 0)?.seqs == [])
    }

    private func head(_ seq: Int) -> EventLog.Head {
        var head = EventLog.Head()
        head.seq = UInt64(seq)
        return head
    }

    /// Most are compact, some are not, some must be read from the log.
    private func fact(seq: UInt64, _ random: inout SeededRandom) -> Fact? {
        var fact = Fact(seq: seq, kind: .notified)
        fact.thread = random.identity()
        fact.argument = random.identity()
        fact.isSilent = random.chance(50)
        fact.summaryCount = UInt32(random.below(10))
        switch random.below(10) {
        case 0: return nil
        case 1: fact.key = random.identity()
        case 2: fact.collapse = random.identity()
        case 3:
            fact.kind = .marked
            fact.items = [seq]
        default: break
        }
        return fact
    }
}
