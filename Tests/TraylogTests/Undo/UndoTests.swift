import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// After an undo the state is as if the event had never been stored.
@Suite struct UndoTests {
    /// Every command whose event can be undone, on the items of ``fill(_:)``.
    private static let actions: [Command.Action] = [
        .seeTray(), .seeTray(upTo: 3), .mark(.seen, [.seq(1), .seq(2)]), .mark(.read, [.seq(2)]),
        .mark(.unread, [.seq(4)]), .mark(.archived, [.seq(1)]), .mark(.unarchived, [.seq(5)]),
        .mark(.deleted, [.seq(2), .seq(4), .seq(5)]), .mark(.restored, [.seq(6)]), .markAll(.seen), .markAll(.read),
        .markAll(.read, ItemFilter(), upTo: 2), .markAll(.archived, ItemFilter(thread: .unthreaded)),
        .markAll(.deleted, ItemFilter(thread: .named("t"))), .markAll(.read, ItemFilter(category: "c")),
        .markAll(.deleted),
    ]

    /// Items 1 to 7, of which 4 is read, 5 archived, 6 deleted, and 7 a broadcast.
    private func fill(_ store: TestedStore) throws {
        for index in 0..<6 {
            try store.notify("ann", Content(thread: index % 2 == 0 ? "t" : nil, category: index % 3 == 0 ? "c" : nil))
        }
        try store.act("ann", .mark(.read, [.seq(4)]))
        try store.act("ann", .mark(.archived, [.seq(5)]))
        try store.act("ann", .mark(.deleted, [.seq(6)]))
        try store.act("ann", .subscribe(topic: "news"))
        try store.broadcast("news", Content(category: "c"))
    }

    /// All queries about ann, without their `asOf`.
    private func answers(_ store: TestedStore) throws -> [String] {
        try store.ask { queries in
            var tray = try queries.tray(of: "ann")
            (tray.asOf, tray.revision) = (0, 0)
            var answers = ["\(tray)"]
            for view in [InboxQuery.View.inbox, .archived, .snoozed] {
                answers.append("\(try queries.inbox(of: "ann", InboxQuery(view: view, limit: 100)).elements)")
            }
            return answers + ["\(try queries.threads(of: "ann").elements)"]
        }
    }

    @Test(arguments: StoreWay.allCases, actions)
    func undoRestoresEveryKindOfMark(way: StoreWay, action: Command.Action) throws {
        try TestedStore.with(way) { store throws in
            try fill(store)
            let before = try answers(store)
            let event = try store.act("ann", action)
            #expect(try answers(store) != before)
            let undone = try store.act("ann", .undo(event: event))
            #expect(try answers(store) == before)
            #expect(try store.tray("ann").asOf == undone)
            // Undone is not forbidden: the same can be done again.
            try store.act("ann", action)
            #expect(try answers(store) != before)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func undoKeepsLaterEvents(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let items = try (0..<4).map { _ in try store.notify("ann") }
            let all = try store.act("ann", .markAll(.read))
            try store.act("ann", .mark(.unread, [.seq(items[0])]))
            try store.act("ann", .mark(.archived, [.seq(items[1])]))
            let new = try store.notify("ann")
            try store.act("ann", .undo(event: all))
            #expect(try store.items("ann").map(\.isRead) == [false, false, false, false])
            #expect(try store.inbox("ann") == [new, items[3], items[2], items[0]])
            #expect(try store.inbox("ann", InboxQuery(view: .archived)) == [items[1]])
            #expect(try store.tray("ann").unseen == 4)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func undoingTwiceChangesNothing(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.notify("ann")
            let seen = try store.act("ann", .seeTray())
            let undone = try store.act("ann", .undo(event: seen), key: "k")
            #expect(try store.receipt("ann", .undo(event: seen)) == .unchanged)
            #expect(try store.receipt("ann", .undo(event: seen), key: "k") == .duplicate(undone))
            #expect(try store.receipt("ann", .undo(event: seen), key: "other") == .unchanged)
            #expect(try store.tray("ann").seenUpTo == 0)
            #expect(try store.ask { try $0.head() } == undone)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func onlyMarksOfTheUserCanBeUndone(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann")
            let subscribed = try store.act("ann", .subscribe(topic: "news"))
            let shared = try store.broadcast("news")
            let muted = try store.act("ann", .mute(.thread("t")))
            let snoozed = try store.act("ann", .snooze(.seq(item), until: .at(5)))
            let woken = try store.act("ann", .wake(.seq(item)))
            try store.notify("bob")
            let others = try store.act("bob", .seeTray())
            let own = try store.act("ann", .seeTray())
            let undone = try store.act("ann", .undo(event: own))
            let kinds: [(Seq, EventKind)] = [
                (item, .notified), (subscribed, .subscribed), (muted, .muted), (snoozed, .snoozed), (woken, .woken),
                (undone, .undone),
            ]
            for (event, kind) in kinds {
                #expect(try store.refusal("ann", .undo(event: event)) == .notUndoable(event, kind: kind))
            }
            let head = try store.store.head().rawValue
            for event in [shared, others, 0, Seq(head + 1), Seq(.max)] {
                #expect(try store.refusal("ann", .undo(event: event)) == .unknownEvent(event))
            }
            #expect(try store.refusal("nobody", .undo(event: own)) == .unknownEvent(own))
            #expect(try store.refusal("bob", .undo(event: own)) == .unknownEvent(own))
        }
    }

    /// The states between are landmarks, so that the fold begins below several of them.
    @Test(arguments: StoreWay.allCases)
    func anEventFarBackIsUndoneToo(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let items = try (0..<150).map { _ in try store.notify("ann") }
            let all = try store.act("ann", .markAll(.deleted, ItemFilter(), upTo: items[99]))
            for index in stride(from: 0, to: 150, by: 3) { try store.act("ann", .mark(.seen, [.seq(items[index])])) }
            #expect(try store.tray("ann").total == 50)
            try store.act("ann", .undo(event: all))
            let tray = try store.tray("ann")
            #expect((tray.total, tray.unseen, tray.unread) == (150, 100, 150))
            let oldest = InboxQuery(limit: 100, cursor: Cursor(before: items[100]))
            let found = try store.items("ann", oldest)
            #expect(found.map(\.seq) == items.prefix(100).reversed())
            #expect(found.map(\.isSeen) == (0..<100).reversed().map { $0 % 3 == 0 })
        }
    }

    @Test(arguments: StoreWay.allCases)
    func manyEventsCanBeUndoneInAnyOrder(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let items = try (0..<40).map { _ in try store.notify("ann") }
            let marks = try items.map { try store.act("ann", .mark(.read, [.seq($0)])) }
            var random = SeededRandom(seed: 3)
            var read = Set(items)
            for index in (0..<40).sorted(by: { _, _ in random.chance(50) }).prefix(25) {
                try store.act("ann", .undo(event: marks[index]))
                read.remove(items[index])
                #expect(try store.tray("ann").unread == UInt64(40 - read.count))
            }
            #expect(try store.items("ann").filter(\.isRead).map(\.seq) == read.sorted(by: >))
        }
    }

    /// The second undo folds across an event that was undone already, the first one of a later event.
    @Test(arguments: StoreWay.allCases)
    func anEventBeforeAnUndoneOneIsUndoneWithoutBringingThatBack(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann")
            let first = try store.act("ann", .mark(.read, [.seq(item)]))
            let second = try store.act("ann", .mark(.archived, [.seq(item)]))
            let third = try store.act("ann", .mark(.deleted, [.seq(item)]))
            try store.act("ann", .undo(event: third))
            try store.act("ann", .undo(event: first))
            #expect(try store.items("ann", InboxQuery(view: .archived)).map(\.isRead) == [false])
            try store.act("ann", .undo(event: second))
            #expect(try store.items("ann").map { [$0.isRead, $0.isArchived] } == [[false, false]])
            for event in [first, second, third] { #expect(try store.receipt("ann", .undo(event: event)) == .unchanged) }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aTransactionCanUndoWhatItDid(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.notify("ann")
            let receipts = try store.store.perform([
                command("ann", .markAll(.deleted)), command("ann", .undo(event: 2)), notify("ann"),
                command("ann", .seeTray()), command("ann", .undo(event: 5)), command("ann", .undo(event: 2)),
                command("bob", .markAll(.read)), command("bob", .undo(event: 7)),
            ])
            #expect(receipts.filter { $0 == .unchanged }.count == 1)
            #expect(try store.inbox("ann") == [4, 1])
            #expect(try store.tray("ann").unseen == 2)
            #expect(throws: TraylogError.refused(.notUndoable(10, kind: .notified))) {
                try store.store.perform([
                    command("ann", .markAll(.deleted)), notify("ann"), command("ann", .undo(event: 10)),
                ])
            }
            #expect(try store.inbox("ann") == [4, 1])
        }
    }

    @Test(arguments: StoreWay.allCases)
    func theKeyOfAnUndoneEventIsStillTaken(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.notify("ann")
            let all = try store.act("ann", .markAll(.read), key: "k")
            try store.act("ann", .undo(event: all))
            #expect(try store.receipt("ann", .markAll(.read), key: "k") == .duplicate(all))
            #expect(try store.refusal("ann", .markAll(.seen), key: "k") == .keyConflict(key: "k", seq: all))
            #expect(try store.tray("ann").unread == 1)
            #expect(
                try store.ask { try $0.history(of: "ann", limit: .max).elements.map(\.kind) } == [
                    .notified, .allMarked, .undone,
                ])
        }
    }
}
