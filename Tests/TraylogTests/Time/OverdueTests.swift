import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogQueries

/// What `health` counts as overdue is what a tick would still deal with.
@Suite struct OverdueTests {
    private static let past = Timestamp.at(1_000)

    /// An item with a time that has come, and each way in which it can end before a tick.
    private static let endings: [(name: String, isOverdue: Bool, end: @Sendable (TestedStore, Seq) throws -> Void)] = [
        ("nothing", true, { _, _ in }),
        ("deleted", false, { try $0.act("ann", .mark(.deleted, [.seq($1)])) }),
        ("archived", true, { try $0.act("ann", .mark(.archived, [.seq($1)])) }),
        ("retracted", false, { try $0.act("ann", .retract(.seq($1))) }),
        ("woken", false, { try $0.act("ann", .wake(.seq($1))) }),
        ("snoozed anew", false, { try $0.act("ann", .snooze(.seq($1), until: .at(4_000_000_000_000))) }),
        ("superseded", false, { store, _ in try store.notify("ann", Content(title: "B", collapseKey: "k")) }),
        ("erased with its person", false, { store, _ in _ = try store.store.blocking.erase("ann") }),
        (
            "deleted, and restored", true,
            { store, seq in
                try store.act("ann", .mark(.deleted, [.seq(seq)]))
                try store.act("ann", .mark(.restored, [.seq(seq)]))
            }
        ),
        (
            "deleted with all others, and undone", true,
            { store, _ in
                let all = try store.act("ann", .markAll(.deleted, ItemFilter(), upTo: nil))
                try store.act("ann", .undo(event: all))
            }
        ),
    ]

    @Test(arguments: endings.indices, [StoreWay.atHand, .reader, .evicted])
    func aSnoozeIsOverdueExactlyWhileATickWouldEndIt(index: Int, way: StoreWay) throws {
        let ending = Self.endings[index]
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Content(title: "A", collapseKey: "k"))
            try store.act("ann", .snooze(.seq(item), until: Self.past))
            try ending.end(store, item)
            #expect(try Self.overdue(store) == (ending.isOverdue ? 1 : 0), "\(ending.name)")
            _ = try store.store.tick(now: .now)
            #expect(try Self.overdue(store) == 0, "\(ending.name), after a tick")
        }
    }

    @Test func expiriesMutesAndRemindersOfAllAreOverdueUntilTheirTick() throws {
        for way in [StoreWay.atHand, .reader, .evicted] {
            try TestedStore.with(way) { store throws in
                try store.act("ann", .subscribe(topic: "news"))
                try store.notify("ann", Content(title: "A", expiresAt: Self.past))
                try store.notify("ann", Content(title: "B", remindAt: Self.past))
                try store.broadcast("news", Content(title: "C", expiresAt: Self.past))
                try store.broadcast("news", Content(title: "D", remindAt: Self.past))
                try store.act("ann", .mute(.all, until: Self.past))
                #expect(try Self.overdue(store) == 5)
                // A deleted item expires, and reminds nobody.
                try store.act("ann", .markAll(.deleted, ItemFilter(), upTo: nil))
                #expect(try Self.overdue(store) >= 3)
                _ = try store.store.tick(now: .now)
                #expect(try Self.overdue(store) == 0)
            }
        }
    }

    @Test(arguments: UInt64(0)..<8)
    func afterATickNothingIsOverdueWhateverHappened(seed: UInt64) throws {
        for way in [StoreWay.atHand, .reader] {
            try TestedStore.with(way) { store throws in
                for round in 0..<4 {
                    _ = try store.play(seed: seed * 10 + UInt64(round), steps: 120, mix: .typical.with(.all))
                    // Times of random histories lie within the first days of 1970, or far ahead.
                    _ = try store.store.tick(now: .now)
                    #expect(try Self.overdue(store) == 0, "seed \(seed), round \(round)")
                }
            }
        }
    }

    private static func overdue(_ store: TestedStore) throws -> Int { try store.ask { try $0.statistics() }.overdue }
}
