import TestSupport
import Testing

@testable import Traylog

/// Which keys are new for certain.
@Suite struct KeyFilterTests {
    @Test(arguments: UInt64(0)..<4)
    func whatWasAddedIsHeldAndLittleElse(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var filter = KeyFilter(words: 256...4_096)
        var added: [UInt64] = []
        #expect(!filter.mayHold(random.next()))
        for _ in 0..<8_000 {
            added.append(random.next())
            filter.insert(added[added.count - 1])
        }
        #expect(added.allSatisfy { filter.mayHold($0) }, "seed \(seed)")
        let wrong = (0..<100_000).count { _ in filter.mayHold(random.next()) }
        #expect(wrong < 600, "seed \(seed)")
    }

    @Test func aSetIsForgottenTwoRoundsLaterAndNotBeforeItsEventsLeftTheTail() {
        var random = SeededRandom(seed: 5)
        var filter = KeyFilter(words: 64...64)
        let keys = (0..<128 * 3).map { _ in random.next() }
        let first = filter.round
        #expect(filter.covers(first) && !filter.covers(0))
        for key in keys[..<128] { filter.insert(key) }
        filter.dropThrough(100, end: 129)
        #expect(filter.round == first + 1 && filter.covers(first))
        for key in keys[128..<256] { filter.insert(key) }
        // Events of the first set wait in the tail.
        filter.dropThrough(120, end: 257)
        #expect(filter.covers(first) && keys[..<256].allSatisfy { filter.mayHold($0) })
        // A stream with some of them that is added now goes when they do; with later ones only, it stays.
        #expect(filter.round(withEventsFrom: 128) == first && filter.round(withEventsFrom: 129) == first + 1)
        #expect(filter.round(withEventsFrom: 0) == first + 1)
        filter.dropThrough(130, end: 257)
        #expect(!filter.covers(first) && filter.covers(first + 1))
        for key in keys[256...] { filter.insert(key) }
        #expect(keys[128...].allSatisfy { filter.mayHold($0) })
        #expect(!keys[..<128].allSatisfy { filter.mayHold($0) })
    }

    @Test func anEventOfWhichNothingIsKnownMayHaveAnyKey() {
        var filter = KeyFilter()
        #expect(filter.isComplete && !filter.mayHold(7))
        filter.noteUnknown(5)
        #expect(!filter.isComplete && filter.mayHold(7))
        filter.dropThrough(4, end: 9)
        #expect(filter.mayHold(7))
        filter.dropThrough(5, end: 9)
        #expect(filter.isComplete && !filter.mayHold(7))
    }

    /// States at hand, states that come and go, and a store that was opened again.
    @Test(arguments: [0, 1 << 20], [20, 100_000])
    func aKeyIsTakenForGood(cacheBytes: Int, tailEvents: Int) throws {
        try withStorePath { path in
            let users = (0..<7).map { "user \($0)" }
            let options = options(tailEvents: tailEvents, cacheBytes: cacheBytes, isRelaxed: true)
            var seqs: [String: Seq] = [:]
            for opening in 0..<3 {
                try withStore(path, options) { store in
                    for round in 0..<60 {
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
