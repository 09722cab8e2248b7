import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// A tick reminds of the items that the rules name, and of no others.
@Suite struct ReminderTests {
    @Test(arguments: StoreWay.allCases)
    func aReminderComesOnceAndMovesNothing(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Content(title: "Due", remindAt: .at(10)))
            let later = try store.notify("ann")
            let before = try store.tray("ann")
            #expect(try store.tick(9) == TickReport(head: 2))
            #expect(try store.tick(10) == TickReport(reminded: 1, head: 3))
            for time in [10, 11, 1_000] { #expect(try store.tick(Int64(time)) == TickReport(head: 3)) }
            #expect(
                try store.events(after: 2).map { "\($0.user ?? "-") \($0.body)" } == [
                    "ann \(Event.Body.reminded(item: item))"
                ])
            var after = try store.tray("ann")
            #expect(after.revision == before.revision + 1)
            (after.asOf, after.revision) = (before.asOf, before.revision)
            #expect(after == before)
            #expect(try store.inbox("ann") == [later, item])
            #expect(try store.items("ann").last?.content.remindAt == .at(10))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func whatIsReadOrDoesNotCountWaitsForTheTickAtWhichItCounts(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("ann", .mute(.thread("quiet")))
            let due = Content(title: "Due", remindAt: .at(10))
            let muted = try store.notify("ann", Content(thread: "quiet", remindAt: .at(10)))
            let silent = try store.notify("ann", Content(isSilent: true, remindAt: .at(10)))
            let (read, archived) = (try store.notify("ann", due), try store.notify("ann", due))
            let (deleted, snoozed) = (try store.notify("ann", due), try store.notify("ann", due))
            let (undone, gone) = (try store.notify("ann", due), try store.notify("ann", due))
            try store.act("ann", .mark(.read, [.seq(read)]))
            try store.act("ann", .mark(.archived, [.seq(archived)]))
            try store.act("ann", .mark(.deleted, [.seq(deleted)]))
            try store.act("ann", .snooze(.seq(snoozed), until: .at(30)))
            let mark = try store.act("ann", .mark(.read, [.seq(undone)]))
            try store.act("ann", .retract(.seq(gone)))
            for _ in 0..<3 { #expect(try store.tick(20).reminded == 0) }

            func reminds(of item: Seq, _ action: Command.Action, at time: Int64 = 20) throws {
                try store.act("ann", action)
                let head = try store.store.head()
                #expect(try store.tick(time).reminded == 1)
                #expect(try store.events(after: head).last?.body == .reminded(item: item))
                #expect(try store.tick(time).reminded == 0)
            }
            try reminds(of: read, .mark(.unread, [.seq(read)]))
            try reminds(of: archived, .mark(.unarchived, [.seq(archived)]))
            try reminds(of: deleted, .mark(.restored, [.seq(deleted)]))
            try reminds(of: undone, .undo(event: mark))
            // It wakes first, and counts in the state after that.
            let head = try store.store.head()
            #expect(try store.tick(30) == TickReport(woken: 1, reminded: 1, head: Seq(head.rawValue + 2)))
            #expect(try store.events(after: head).map(\.body) == [.woken(item: snoozed), .reminded(item: snoozed)])
            try store.act("ann", .unmute(.thread("quiet")))
            #expect(try store.tick(1_000).reminded == 0)
            #expect(try store.inbox("ann", InboxQuery(ItemFilter(includeSilent: true), limit: 100)).contains(muted))
            #expect(try store.inbox("ann", InboxQuery(ItemFilter(includeSilent: true), limit: 100)).contains(silent))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anEditToAnotherTimeAsksAnewAndOneToTheSameDoesNot(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Content(title: "Due", remindAt: .at(10)))
            #expect(try store.tick(10).reminded == 1)
            var same = ContentEdit()
            same.remindAt = .set(.at(10))
            #expect(try store.receipt("ann", .edit(.seq(item), same)) == .unchanged)
            same.title = .set("Due soon")
            try store.act("ann", .edit(.seq(item), same))
            #expect(try store.tick(20).reminded == 0)
            var other = ContentEdit()
            other.remindAt = .set(.at(15))
            try store.act("ann", .edit(.seq(item), other))
            #expect(try store.tick(14).reminded == 0)
            #expect(try store.tick(20).reminded == 1)
            other.remindAt = .set(.at(50))
            try store.act("ann", .edit(.seq(item), other))
            other.remindAt = .clear
            try store.act("ann", .edit(.seq(item), other))
            #expect(try store.tick(100).reminded == 0)
            #expect(try store.items("ann").first?.content.remindAt == nil)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aBroadcastGetsOneReminderWhateverTheAudienceDid(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob", "cy"] { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news", Content(remindAt: .at(10)))
            let gone = try store.broadcast("news", Content(remindAt: .at(10)))
            try store.act(nil, .retract(.seq(gone)))
            for user in ["ann", "bob", "cy"] { try store.act(user, .mark(.read, [.seq(item)])) }
            let head = try store.store.head()
            #expect(try store.tick(10).reminded == 1)
            let events = try store.events(after: head)
            #expect(events.map(\.body) == [.reminded(item: item)] && events.allSatisfy { $0.user == nil })
            try store.act("ann", .mark(.unread, [.seq(item)]))
            #expect(try store.tick(20).reminded == 0)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func remindersComeAfterAllChangesByTimeItemAndUser(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let late = try store.notify("bob", Content(remindAt: .at(20)))
            let first = try store.notify("bob", Content(remindAt: .at(10)))
            let second = try store.notify("ann", Content(remindAt: .at(10)))
            let expiring = try store.notify("ann", Content(expiresAt: .at(25), remindAt: .at(5)))
            try store.act("ann", .mute(.all, until: .at(15)))
            let head = try store.store.head()
            #expect(
                try store.tick(30)
                    == TickReport(expired: 1, unmuted: 1, reminded: 3, head: Seq(head.rawValue + 5)))
            #expect(
                try store.events(after: head).map(\.body) == [
                    .unmuted(.all), .expired(item: expiring), .reminded(item: first), .reminded(item: second),
                    .reminded(item: late),
                ])
        }
    }
}
