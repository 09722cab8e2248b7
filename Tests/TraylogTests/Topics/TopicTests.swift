import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// The receivers of a broadcast, and its later changes.
@Suite struct TopicTests {
    @Test(arguments: StoreWay.allCases)
    func aMutedTopicIsListedAndNotCountedAndItsUserStaysSubscribed(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            try store.act("ann", .subscribe(topic: "ops"))
            try store.broadcast("news")
            try store.act("ann", .mute(.topic("news")))
            #expect(try store.receipt("ann", .mute(.topic("news"))) == .unchanged)
            // A thread of the same name is another mute.
            try store.act("ann", .mute(.thread("news")))
            try store.act("ann", .unmute(.thread("news")))
            let quiet = try store.broadcast("news", Content(level: .critical))
            let other = try store.broadcast("ops", Content(thread: "news"))
            try store.notify("ann", Content(thread: "news"))
            #expect(try store.tray("ann").unread == 3 && store.tray("ann").total == 4)
            #expect(try store.tray("bob").unread == 2)
            #expect(try store.items("ann").first { $0.seq == quiet }?.isMuted == true)
            #expect(try store.items("ann").first { $0.seq == other }?.isMuted == false)
            #expect(try store.tray("ann", asOf: .seq(quiet)).unread == 1)
            #expect(try store.ask { try $0.mutes(of: "ann").mutes.map(\.scope) } == [.topic("news")])
            // Another end replaces it, and a tick ends it.
            let until = try store.act("ann", .mute(.topic("news"), until: .at(10)))
            #expect(try store.tick(20).unmuted == 1)
            #expect(try store.events(after: until).map(\.body) == [.unmuted(.topic("news"))])
            try store.broadcast("news")
            #expect(try store.tray("ann").unread == 4)
            #expect(try store.receipt("ann", .unmute(.topic("news"))) == .unchanged)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func subscribingBringsNoBacklog(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            let early = try store.broadcast("news")
            try store.act("ann", .subscribe(topic: "news"))
            #expect(try store.inbox("ann").isEmpty)
            let late = try store.broadcast("news")
            try store.broadcast("other")
            #expect(try store.inbox("ann") == [late])
            #expect(try store.refusal("ann", .mark(.read, [.seq(early)])) == .unknownItem(.seq(early)))
            #expect(try store.receipt("ann", .subscribe(topic: "news")) == .unchanged)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func unsubscribingKeepsReceivedItemsWhichStillChange(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "news"))
            let edited = try store.broadcast("news")
            let retracted = try store.broadcast("news")
            let expiring = try store.broadcast("news", Content(title: "Soon over", expiresAt: .at(10)))
            try store.act("ann", .unsubscribe(topic: "news"))
            let missed = try store.broadcast("news", Content(title: "Missed", expiresAt: .at(10)))
            #expect(try store.inbox("ann") == [expiring, retracted, edited])
            try store.act(nil, .edit(.seq(edited), title("New")))
            try store.act(nil, .edit(.seq(missed), title("New")))
            try store.act(nil, .retract(.seq(retracted)))
            #expect(try store.tick(10).expired == 2)
            #expect(try store.items("ann").map(\.content.title) == ["New"])
            #expect(try store.tray("ann").total == 1)
            #expect(try store.refusal("ann", .snooze(.seq(retracted), until: .at(20))) == .itemGone(retracted))
            #expect(try store.receipt("ann", .unsubscribe(topic: "news")) == .unchanged)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func subscribingAgainBringsBroadcastsFromThenOn(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "news"))
            try store.act("bob", .subscribe(topic: "news"))
            try store.act("bob", .unsubscribe(topic: "news"))
            let first = try store.broadcast("news")
            try store.act("ann", .unsubscribe(topic: "news"))
            let missed = try store.broadcast("news")
            try store.act("ann", .subscribe(topic: "news"))
            try store.act("bob", .subscribe(topic: "news"))
            let third = try store.broadcast("news")
            // What changes of an item that the user never got changes nothing.
            try store.act(nil, .edit(.seq(missed), title("New")))
            try store.act(nil, .retract(.seq(missed)))
            #expect(try store.inbox("ann") == [third, first])
            #expect(try store.inbox("bob") == [third])
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aKeyOfABroadcastIsUniqueInItsTopic(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "a"))
            let first = try store.broadcast("a", key: "k")
            try store.broadcast("b", key: "k")
            try store.notify("ann", key: "k")
            // A topic and a user can have the same name, too.
            try store.notify("a", key: "k")
            let sent = Command.Action.broadcast(topic: "a", Content(title: "To all"))
            #expect(try store.receipt(nil, sent, key: "k") == .duplicate(first))
            let other = Command.Action.broadcast(topic: "a", Content(title: "Other"))
            #expect(try store.refusal(nil, other, key: "k") == .keyConflict(key: "k", seq: first))
            let edit = Command.Action.edit(.seq(first), title("New"))
            #expect(try store.refusal(nil, edit, key: "k") == .keyConflict(key: "k", seq: first))
            let edited = try store.act(nil, edit, key: "k2")
            #expect(try store.receipt(nil, edit, key: "k2") == .duplicate(edited))
            try store.broadcast("b", key: "k2")
            #expect(try store.inbox("ann").count == 2)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func onlyItsPublisherChangesABroadcast(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "news"))
            let shared = try store.broadcast("news", key: "k")
            let own = try store.notify("ann")
            for item in [ItemReference.seq(shared), .key("k")] {
                #expect(try store.refusal("ann", .edit(item, title("New"))) == .unknownItem(item))
                #expect(try store.refusal("ann", .retract(item)) == .unknownItem(item))
            }
            for item in [ItemReference.seq(own), .key("k"), .seq(1), .seq(0), .seq(99)] {
                #expect(try store.refusal(nil, .edit(item, title("New"))) == .unknownItem(item))
                #expect(try store.refusal(nil, .retract(item)) == .unknownItem(item))
            }
            try store.act(nil, .retract(.seq(shared)))
            #expect(try store.refusal(nil, .retract(.seq(shared))) == .itemGone(shared))
            #expect(try store.refusal(nil, .edit(.seq(shared), title("New"))) == .itemGone(shared))
            #expect(try store.inbox("ann") == [own])
        }
    }

    @Test(arguments: StoreWay.allCases)
    func broadcastsAreMutedPerUserAndSilentForAll(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            try store.act("ann", .mute(.thread("t")))
            let threaded = try store.broadcast("news", Content(thread: "t", category: "c"))
            try store.act("ann", .unmute(.thread("t")))
            let silent = try store.broadcast("news", Content(isSilent: true))
            #expect(try store.items("ann").map(\.isMuted) == [true])
            #expect(try store.items("bob").map(\.isMuted) == [false])
            let (ann, bob) = (try store.tray("ann"), try store.tray("bob"))
            #expect((ann.total, ann.unseen, ann.categories.count) == (1, 0, 0))
            #expect((bob.total, bob.unseen, bob[category: "c"].unread) == (1, 1, 1))
            let all = InboxQuery(ItemFilter(includeSilent: true), limit: 100)
            #expect(try store.inbox("bob", all) == [silent, threaded])
        }
    }

    @Test(arguments: StoreWay.allCases)
    func marksOnABroadcastAreTheUsersOwn(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            let items = try (0..<6).map { _ in try store.broadcast("news", Content(category: "c")) }
            for (mark, item) in zip([Mark.seen, .read, .archived, .deleted], items) {
                try store.act("ann", .mark(mark, [.seq(item)]))
            }
            try store.act("ann", .snooze(.seq(items[4]), until: .at(5)))
            #expect(try store.inbox("ann") == [items[5], items[1], items[0]])
            #expect(try store.inbox("ann", InboxQuery(view: .snoozed)) == [items[4]])
            let woken = try store.act("ann", .wake(.seq(items[4])))
            #expect(try store.items("ann").first?.position == woken)
            #expect(try store.inbox("ann") == [items[4], items[5], items[1], items[0]])
            let ann = try store.tray("ann")
            #expect((ann.unseen, ann.unread, ann[category: "c"].unseen) == (2, 3, 2))
            #expect(try store.inbox("bob") == items.reversed())
            #expect(try store.tray("bob").unseen == 6)
            // The publisher's changes show through the user's marks.
            try store.act("ann", .markAll(.read))
            try store.act(nil, .edit(.seq(items[4]), title("New")))
            #expect(try store.items("ann").first.map { [$0.content.title == "New", $0.isRead] } == [true, true])
            try store.act(nil, .retract(.seq(items[4])))
            #expect(try store.inbox("ann").first == items[5])
        }
    }

    @Test(arguments: StoreWay.allCases)
    func oneTransactionCanBroadcastAndActOnTheBroadcast(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            _ = try store.store.perform([
                command("ann", .subscribe(topic: "news")),
                command(nil, .broadcast(topic: "news", Content(title: "One")), key: "k"),
                command("ann", .mark(.read, [.seq(2)])),
                command(nil, .edit(.seq(2), title("New"))),
                command("bob", .subscribe(topic: "news")),
                command(nil, .broadcast(topic: "news", Content(title: "Two"))),
                command(nil, .broadcast(topic: "news", Content(title: "One")), key: "k"),
                command("ann", .snooze(.seq(6), until: .at(5))),
                command("bob", .markAll(.seen)),
                command("ann", .unsubscribe(topic: "news")),
                command(nil, .broadcast(topic: "news", Content(title: "Three"))),
            ])
            #expect(try store.ask { try $0.head() } == 10)
            #expect(try store.items("ann").map { [$0.content.title, "\($0.isRead)"] } == [["New", "true"]])
            #expect(try store.inbox("ann", InboxQuery(view: .snoozed)) == [6])
            #expect(
                try store.items("bob").map { [$0.content.title, "\($0.isSeen)"] } == [
                    ["Three", "false"], ["Two", "true"],
                ])
        }
    }

    /// A user who looks only after hundreds of broadcasts, most of them no longer in the tail, misses none.
    @Test(arguments: StoreWay.allCases)
    func theTrayOfASubscriberWhoNeverLookedIsExact(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "a"))
            try store.act("ann", .subscribe(topic: "b"))
            var expected: [Seq] = []
            for round in 0..<300 {
                let topic = ["a", "b", "c"][round % 3]
                let seq = try store.broadcast(topic, Content(category: topic))
                if topic != "c" { expected.append(seq) }
                if round % 10 == 0, topic != "c" {
                    try store.act(nil, .retract(.seq(seq)))
                    expected.removeLast()
                }
            }
            let tray = try store.tray("ann")
            #expect(tray.total == UInt64(expected.count) && tray.unread == tray.total)
            #expect(tray.categories.map(\.category) == ["a", "b"])
            #expect(try store.inbox("ann") == expected.suffix(100).reversed())
            let oldest = InboxQuery(limit: 100, cursor: Cursor(before: expected[100]))
            #expect(try store.inbox("ann", oldest) == expected.prefix(100).reversed())
        }
    }
}

/// An edit that sets the title.
func title(_ text: String) -> ContentEdit {
    var edit = ContentEdit()
    edit.title = .set(text)
    return edit
}
