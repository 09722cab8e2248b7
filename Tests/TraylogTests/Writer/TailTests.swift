import TestSupport
import Testing
import TraylogDomain

@testable import Traylog

/// The tail against an array of all facts.
@Suite struct TailTests {
    @Test(arguments: UInt64(0)..<20)
    func everyFactComesBackAsItWas(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var tail = Tail(first: 1)
        var facts: [Fact?] = []
        for _ in 0..<2_000 {
            switch random.below(100) {
            case 0:
                let kept = random.between(Int(tail.first - 1), facts.count)
                tail.truncate(from: UInt64(kept + 1))
                facts.removeSubrange(kept...)
            case 1:
                tail.dropThrough(UInt64(random.between(0, facts.count)))
            default:
                let fact = fact(seq: UInt64(facts.count + 1), &random)
                if let fact { tail.append(fact) } else { tail.appendUnread() }
                facts.append(fact)
            }
            #expect(tail.count == facts.count - Int(tail.first - 1))
        }
        for seq in tail.first..<UInt64(facts.count + 1) { #expect(tail.fact(seq) == facts[Int(seq - 1)]) }
    }

    @Test func aRunFollowsOneUserToTheEndOfTheChain() {
        var tail = Tail(first: 1)
        for seq in UInt64(1)...100 { tail.append(Fact(seq: seq, kind: .notified)) }
        for seq in stride(from: UInt64(3), to: 99, by: 3) { tail.setNext(seq + 3, after: seq) }
        var run = TailRun()
        var found: [UInt64] = []
        var next: UInt64 = 3
        while next != 0, next <= 90 {
            tail.read(&run, from: next, through: 90)
            for index in 0..<run.count {
                found.append(run.seqs[index])
                next = run.next(after: index)
            }
        }
        #expect(found == Array(stride(from: 3, through: 90, by: 3)))
        #expect(next == 93)
    }

    @Test(arguments: UInt64(0)..<20)
    func keysAreFoundAlongAChain(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var tail = Tail(first: 1)
        var chain: [Fact] = []
        for seq in UInt64(1)...300 {
            var fact = fact(seq: seq, &random) ?? Fact(seq: seq, kind: .muted)
            fact.key = random.chance(30) ? UInt64(random.between(1, 5)) : 0
            tail.append(fact)
            guard random.chance(20) else { continue }
            if let last = chain.last { tail.setNext(seq, after: last.seq) }
            chain.append(fact)
        }
        tail.dropThrough(chain[3].seq)
        for key in UInt64(1)...6 {
            let found = try #require(tail.carriers(of: key, from: chain[4].seq))
            #expect(found.seqs == chain[4...].filter { $0.key == key }.map(\.seq))
            // Nobody looks for what is surely not there.
            if !found.seqs.isEmpty { #expect(found.looked == chain.count - 4) }
        }
    }

    @Test func anEventThatMustBeReadHidesItsKey() {
        var tail = Tail(first: 1)
        tail.appendUnread()
        #expect(tail.carriers(of: 1, from: 1)?.looked == nil)
        #expect(tail.carriers(of: 1, from: 0)?.seqs == [])
    }

    @Test(arguments: UInt64(0)..<10)
    func noKeyOfTheTailIsOverlooked(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var tail = Tail(first: 1)
        var keys: [UInt64] = []
        for _ in 0..<500 {
            switch random.below(50) {
            case 0:
                tail.dropThrough(UInt64(random.between(0, keys.count)))
            case 1:
                let kept = random.between(Int(tail.first - 1), keys.count)
                tail.truncate(from: UInt64(kept + 1))
                keys.removeSubrange(kept...)
            default:
                var fact = fact(seq: UInt64(keys.count + 1), &random) ?? Fact(seq: UInt64(keys.count + 1), kind: .muted)
                fact.key = random.next() | 1
                tail.append(fact)
                keys.append(fact.key)
            }
            for seq in tail.first..<UInt64(keys.count + 1) {
                #expect(tail.carriers(of: keys[Int(seq - 1)], from: seq)?.seqs == [seq])
            }
        }
    }

    /// Most are compact, some are not, some must be read from the log.
    private func fact(seq: UInt64, _ random: inout SeededRandom) -> Fact? {
        var fact = Fact(seq: seq, kind: .notified)
        fact.thread = random.next()
        fact.argument = random.next()
        fact.isSilent = random.chance(50)
        fact.summaryCount = UInt32(random.below(10))
        switch random.below(10) {
        case 0: return nil
        case 1: fact.key = random.next()
        case 2: fact.collapse = random.next()
        case 3:
            fact.kind = .marked
            fact.items = [seq]
        default: break
        }
        return fact
    }
}
