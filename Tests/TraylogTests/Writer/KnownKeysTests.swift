import TestSupport
import Testing
import TraylogDomain
import TraylogLog

@testable import Traylog
@testable import TraylogWriter

/// Which keys are new for certain.
@Suite struct KnownKeysTests {
    @Test(arguments: UInt64(0)..<4)
    func knownKeysHoldAddedKeysWithFewFalsePositives(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var filter = KeyFilter(words: 4_096)
        var added: [Identity] = []
        #expect(!filter.mayHold(random.identity()))
        for _ in 0..<filter.capacity {
            added.append(random.identity())
            filter.insert(added[added.count - 1])
        }
        #expect(added.allSatisfy { filter.mayHold($0) }, "seed \(seed)")
        let wrong = (0..<100_000).count { _ in filter.mayHold(random.identity()) }
        #expect(wrong < 600, "seed \(seed)")
    }

    /// A full filter restarts with the keys of the tail, and forgets which streams were in it.
    @Test func aFullFilterOfKeysBeginsAnew() throws {
        var random = SeededRandom(seed: 5)
        var tail = LogTail(after: 0)
        var known = KnownKeys(filterWords: 64)
        let stream = known.ofNewStream
        #expect(known.isNew(1, in: stream) && !known.isNew(1, in: KnownKeys.OfStream()))
        let first = random.identity()
        tail.append(Fact(seq: 1, kind: .muted), to: 1, revision: 1)
        tail.append(notified(2, key: first), to: 1, revision: 2)
        known.insert(first, of: tail)
        #expect(!known.isNew(first, in: stream))
        let waiting = random.identity()
        tail.append(notified(3, key: waiting), to: 1, revision: 3)
        known.insert(waiting, of: tail)
        var head = EventLog.Head()
        head.seq = 3
        tail.publish(head)
        tail.flushed(1, through: 2, isNewest: true)
        tail.dropThrough(2)
        for _ in 0..<253 { known.insert(random.identity(), of: tail) }
        #expect(!known.isNew(first, in: known.ofNewStream))
        known.insert(random.identity(), of: tail)
        #expect(known.mayWait(waiting) && !known.mayWait(first))
        let later = known.ofNewStream
        #expect(known.isNew(first, in: later) && !known.isNew(waiting, in: later))
        // A stream that was in the filter before can be put in again.
        var again = stream
        var keys = KeyIndex()
        try keys.insert(first.rawValue, seq: 2) { _ in nil }
        try known.noteLookup(&again, keys) { _ in nil }
        #expect(!known.isNew(first, in: again) && known.isNew(17, in: again))
    }

    @Test func anEventOfWhichNothingIsKnownMayHaveAnyKey() throws {
        var known = KnownKeys()
        var stream = known.ofNewStream
        #expect(known.isNew(7, in: stream) && !known.mayWait(7))
        known.noteUnread(5)
        #expect(!known.isNew(7, in: stream) && known.mayWait(7))
        stream = KnownKeys.OfStream()
        try known.noteLookup(&stream, KeyIndex()) { _ in nil }
        known.dropThrough(4)
        #expect(known.mayWait(7))
        known.dropThrough(5)
        #expect(!known.mayWait(7) && !known.isNew(7, in: stream), "its keys could not be counted as complete")
        try known.noteLookup(&stream, KeyIndex()) { _ in nil }
        #expect(known.isNew(7, in: stream))
    }

    private func notified(_ seq: UInt64, key: Identity) -> Fact {
        var fact = Fact(seq: seq, kind: .notified)
        fact.key = key
        return fact
    }

    /// States at hand, states that come and go, and a store that was opened again.
    @Test(arguments: [0, 1 << 20], [20, 100_000])
    func aKeyStaysTaken(cacheBytes: Int, tailEvents: Int) throws {
        try withStorePath { path in
            let users = (0..<7).map { "user \($0)" }
            let options = options(tailEvents: tailEvents, cacheBytes: cacheBytes, isRelaxed: true)
            var seqs: [String: Seq] = [:]
            for opening in 0..<3 {
                try withStore(path, options) { store in
                    for round in 0..<sized(24, nightly: 60) {
                        let names = users.flatMap { user in (0..<3).map { (user, "\(opening)-\(round)-\($0)") } }
                        let receipts = try store.perform(names.map { notify($0, key: $1) })
                        for ((user, key), receipt) in zip(names, receipts) {
                            guard case .appended(let seq) = receipt else {
                                Issue.record("\(key) of \(user) came to \(receipt)")
                                continue
                            }
                            seqs[user + key] = seq
                        }
                        let (user, key) = (users[round % 7], "\(round % (opening + 1))-\(round / 2)-1")
                        #expect(try store.perform(notify(user, key: key)) == .duplicate(#require(seqs[user + key])))
                    }
                }
            }
        }
    }
}
