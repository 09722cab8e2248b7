import TestSupport
import Testing
import TraylogDomain

@testable import Traylog

/// Trays that are kept as they were answered.
@Suite struct AnsweredTraysTests {
    @Test(arguments: UInt64(0)..<10)
    func aTrayIsAsItWasKeptLastOrNotKnown(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let hasher = IdentityHasher(key0: random.next(), key1: random.next())
        var trays = AnsweredTrays(bytes: seed.isMultiple(of: 2) ? 0 : 1 << 20)
        var kept: [String: Tray] = [:]
        for _ in 0..<5_000 {
            let user = "user \(random.between(1, 400))\(random.next().isMultiple(of: 3) ? " with a long name" : "")"
            let identity = hasher.identity(of: user, as: .user)
            if random.next().isMultiple(of: 4) {
                trays.forget(user, identity: identity)
                kept[user] = nil
                #expect(trays.tray(of: user, identity: identity, asOf: 7, lastTopicEvent: 0) == nil)
            } else {
                let tray = tray(of: user, &random)
                trays.keep(tray, identity: identity, topicsThrough: nil)
                kept[user] = tray
                #expect(trays.tray(of: user, identity: identity, asOf: 7, lastTopicEvent: 100) == tray)
            }
            let other = "user \(random.between(1, 500))"
            let found = trays.tray(
                of: other, identity: hasher.identity(of: other, as: .user), asOf: 7, lastTopicEvent: 0)
            #expect(found == nil || found == kept[other], "seed \(seed)")
        }
        trays.removeAll()
        for user in kept.keys {
            let identity = hasher.identity(of: user, as: .user)
            #expect(trays.tray(of: user, identity: identity, asOf: 7, lastTopicEvent: 0) == nil)
        }
    }

    @Test func whatTheyTakeIsBounded() {
        var trays = AnsweredTrays(bytes: 100_000)
        for number in UInt64(1)...10_000 {
            let user = "user \(number)"
            trays.keep(Tray(user: user, asOf: 1), identity: number &* 0x9e37_79b9_7f4a_7c15, topicsThrough: nil)
        }
        #expect(trays.byteCount <= 100_000)
    }

    @Test func namesOfOneIdentityAreToldApart() {
        var trays = AnsweredTrays(bytes: 100_000)
        trays.keep(Tray(user: "caf\u{e9}", asOf: 7, unread: 1), identity: 5, topicsThrough: nil)
        #expect(trays.tray(of: "cafe\u{301}", identity: 5, asOf: 7, lastTopicEvent: 0) == nil)
        trays.keep(Tray(user: "cafe\u{301}", asOf: 7, unread: 2), identity: 5, topicsThrough: nil)
        #expect(trays.tray(of: "caf\u{e9}", identity: 5, asOf: 7, lastTopicEvent: 0)?.unread == 1)
        #expect(trays.tray(of: "cafe\u{301}", identity: 5, asOf: 7, lastTopicEvent: 0)?.unread == 2)
    }

    @Test func aLaterEventOfATopicMakesATrayUnknown() {
        var trays = AnsweredTrays(bytes: 0)
        trays.keep(Tray(user: "A", asOf: 7), identity: 5, topicsThrough: 0)
        #expect(trays.tray(of: "A", identity: 5, asOf: 7, lastTopicEvent: 0) != nil)
        #expect(trays.tray(of: "A", identity: 5, asOf: 7, lastTopicEvent: 1) == nil)
        trays.keep(Tray(user: "A", asOf: 7), identity: 5, topicsThrough: 3)
        #expect(trays.tray(of: "A", identity: 5, asOf: 7, lastTopicEvent: 3) != nil)
        #expect(trays.tray(of: "A", identity: 5, asOf: 7, lastTopicEvent: 4) == nil)
    }

    /// Slots of a small cache come and go; trays stay, and have to go all the same when an event comes.
    @Test func anEventChangesATrayThatOutlivedItsSlot() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 20, cacheBytes: 0, isRelaxed: true)) { store in
                let users = (0..<30).map { "user \($0)" }
                for round in UInt64(1)...5 {
                    for user in users { _ = try store.perform(Command(user: user, .notify(Content()))) }
                    for user in users.reversed() { #expect(try store.tray(of: user).total == round) }
                    for user in users { #expect(try store.tray(of: user).total == round) }
                }
            }
        }
    }

    private func tray(of user: String, _ random: inout SeededRandom) -> Tray {
        var tray = Tray(
            user: user, asOf: 7, unseen: random.next() % 9, unread: random.next() % 9, total: random.next() % 9,
            seenUpTo: Seq(random.next() % 9), newest: random.next().isMultiple(of: 2) ? nil : 5)
        for index in 0..<random.next() % 4 {
            let unseen = random.next().isMultiple(of: 8) ? UInt64.max : random.next() % 3
            tray.categories.append(
                Tray.CategoryCounts(category: "category \(index)", unseen: unseen, unread: random.next() % 3))
        }
        return tray
    }
}
