import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// The events of a tick, and their order.
@Suite struct TickTests {
    @Test(arguments: StoreWay.allCases)
    func aTickGoesByTimeThenItemThenUserAndExpiresBeforeItWakes(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            // In the bytes of their names; subscribed in another order. The last two are canonically equivalent.
            let users = ["Zoe", "ann", "bob", "e\u{301}va", "\u{E9}va"]
            for user in users.reversed() { try store.act(user, .subscribe(topic: "news")) }
            let late = try store.notify("ann", Content(expiresAt: .at(30)))
            let early = try store.notify("ann", Content(expiresAt: .at(10)))
            let shared = try store.broadcast("news")
            let both = try store.broadcast("news", Content(expiresAt: .at(20)))
            let own = try store.notify("bob", Content(expiresAt: .at(20)))
            try store.act("bob", .snooze(.seq(own), until: .at(20)))
            for user in users.shuffled() {
                try store.act(user, .snooze(.seq(shared), until: .at(20)))
                try store.act(user, .snooze(.seq(both), until: .at(20)))
            }
            let notYet = try store.notify("ann", Content(expiresAt: .at(31)))
            let head = try store.store.head()
            let report = try store.tick(30)
            let events = try store.events(after: head)
            let woken = users.map { Line(.woken(item: shared), $0) }
            #expect(
                events.map { Line($0.body, $0.user) } == [
                    Line(.expired(item: early), "ann")
                ] + woken + [
                    Line(.expired(item: both), nil), Line(.expired(item: own), "bob"),
                    Line(.expired(item: late), "ann"),
                ])
            #expect(report == TickReport(woken: 5, expired: 4, head: Seq(head.rawValue + 9)))
            #expect(events.allSatisfy { $0.actor == nil && $0.key == nil && $0.occurredAt == nil })
            #expect(try store.inbox("ann") == [shared, notYet])
        }
    }

    private struct Line: Equatable {
        let body: Event.Body
        let user: Name?

        init(_ body: Event.Body, _ user: String?) {
            self.body = body
            self.user = user.map { Name($0) }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aDeletedItemExpiresAndWakesOnlyWhenItIsBack(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Content(title: "Wakes"))
            let other = try store.notify("ann", Content(title: "Expires", expiresAt: .at(10)))
            for seq in [item, other] {
                try store.act("ann", .snooze(.seq(seq), until: .at(10)))
                try store.act("ann", .mark(.deleted, [.seq(seq)]))
            }
            #expect(try store.tick(10) == TickReport(expired: 1, head: 7))
            for _ in 0..<3 { #expect(try store.tick(20) == TickReport(head: 7)) }
            #expect(try store.ask { try $0.head() } == 7)
            try store.act("ann", .mark(.restored, [.seq(item)]))
            #expect(try store.inbox("ann").isEmpty)
            #expect(try store.tick(20) == TickReport(woken: 1, head: 9))
            #expect(try store.items("ann").map { [$0.seq, $0.position] } == [[item, 9]])
            #expect(try store.tick(30) == TickReport(head: 9))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aReplacedSnoozeEndsAtTheNewTimeOnly(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann")
            try store.act("ann", .snooze(.seq(item), until: .at(10)))
            try store.act("ann", .snooze(.seq(item), until: .at(30)))
            #expect(try store.receipt("ann", .snooze(.seq(item), until: .at(30))) == .unchanged)
            #expect(try store.tick(20) == TickReport(head: 3))
            try store.act("ann", .snooze(.seq(item), until: .at(15)))
            #expect(try store.tick(20) == TickReport(woken: 1, head: 5))
            // Over already; the row of 30 is left, and means nothing.
            #expect(try store.tick(40) == TickReport(head: 5))
            try store.act("ann", .snooze(.seq(item), until: .at(50)))
            try store.act("ann", .wake(.seq(item)))
            #expect(try store.tick(60) == TickReport(head: 7))
            // The same time again, after the tick that went past it.
            try store.act("ann", .snooze(.seq(item), until: .at(50)))
            #expect(try store.tick(60) == TickReport(woken: 1, head: 9))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aTickIgnoresGoneAndPostponedItems(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let soon = Content(title: "Soon", expiresAt: .at(10))
            let retracted = try store.notify("ann", soon)
            let cleared = try store.notify("ann", soon)
            let postponed = try store.notify("ann", soon)
            let hastened = try store.notify("ann", Content(title: "Late", expiresAt: .at(90)))
            let snoozed = try store.notify("ann")
            try store.act("ann", .snooze(.seq(snoozed), until: .at(10)))
            for item in [retracted, snoozed] { try store.act("ann", .retract(.seq(item))) }
            try store.act("ann", .edit(.seq(cleared), expiry(nil)))
            try store.act("ann", .edit(.seq(postponed), expiry(50)))
            try store.act("ann", .edit(.seq(hastened), expiry(5)))
            #expect(try store.tick(10) == TickReport(expired: 1, head: 12))
            #expect(try store.inbox("ann") == [postponed, cleared])
            #expect(try store.tick(50).expired == 1)
            #expect(try store.tick(1_000) == TickReport(head: 13))
            #expect(try store.inbox("ann") == [cleared])
        }
    }

    private func expiry(_ milliseconds: Int64?) -> ContentEdit {
        var edit = ContentEdit()
        edit.expiresAt = milliseconds.map { .set(.at($0)) } ?? .clear
        return edit
    }

    @Test(arguments: StoreWay.allCases)
    func aBroadcastExpiresOnceForEveryone(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob", "cy"] { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news", Content(expiresAt: .at(10)))
            try store.act("ann", .mark(.deleted, [.seq(item)]))
            try store.act("bob", .snooze(.seq(item), until: .at(10)))
            let head = try store.store.head()
            #expect(try store.tick(10).expired == 1)
            let events = try store.events(after: head)
            #expect(events.map(\.body) == [.expired(item: item)])
            #expect(events.first.map { $0.user == nil } == true)
            for user in ["ann", "bob", "cy"] {
                #expect(try store.tray(user).total == 0)
                #expect(try store.refusal(user, .wake(.seq(item))) == .itemGone(item))
            }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func everyUserWakesTheirOwnCopyOfABroadcast(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let users = (0..<12).map { "user\($0)" }
            for user in users { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news")
            try store.act("user0", .mark(.read, [.seq(item)]))
            for (index, user) in users.enumerated() where index % 3 != 2 {
                try store.act(user, .snooze(.seq(item), until: .at(Int64(10 + index % 3))))
            }
            #expect(try store.tick(10).woken == 4)
            #expect(try store.items("user0").map(\.isRead) == [false])
            #expect(try store.inbox("user1").isEmpty)
            #expect(try store.items("user2").map(\.position) == [item])
            #expect(try store.tick(11).woken == 4)
            // user10 came before user4 and user7.
            let positions = try ["user1", "user10", "user4", "user7"].map { try store.items($0).map(\.position) }
            let head = try store.store.head().rawValue
            #expect(positions == (0..<4).map { [Seq(head - 3 + $0)] })
        }
    }

    @Test func aWokenItemStandsWhereItWokeUnseenAndUnread() throws {
        try TestedStore.with(.evicted) { store throws in
            let item = try store.notify("ann", key: "k")
            let other = try store.notify("ann")
            try store.act("ann", .mark(.read, [.seq(item), .seq(other)]))
            #expect(try store.refusal("ann", .wake(.seq(item))) == .notSnoozed(item))
            try store.act("ann", .snooze(.key("k"), until: .at(10)))
            #expect(try store.items("ann", InboxQuery(view: .snoozed)).map(\.snoozedUntil) == [.at(10)])
            _ = try store.tick(10)
            #expect(
                try store.items("ann").map { [$0.seq == item, $0.isSeen, $0.isRead] }.first == [true, false, false])
            #expect(try store.tray("ann").newest == 5)
            // A watermark goes by positions: what woke stands above it.
            #expect(try store.receipt("ann", .seeTray(upTo: 4)) == .appended(6))
            #expect(try store.tray("ann").unseen == 1)
        }
    }
}
