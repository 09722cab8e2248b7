import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// Whether an item was superseded depends on marks before, and with it whether it is due.
@Suite struct UndoneSupersedingTests {
    private static let collapsing = Content(title: "Old", expiresAt: .at(10), collapseKey: "c")

    @Test(arguments: StoreWay.allCases)
    func anItemThatWasDeletedInTimeIsSupersededAfterAll(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let old = try store.notify("ann", Content(collapseKey: "c"))
            let deleted = try store.act("ann", .mark(.deleted, [.seq(old)]))
            let new = try store.notify("ann", Content(collapseKey: "c"))
            try store.act("ann", .undo(event: deleted))
            #expect(try store.inbox("ann") == [new])
            #expect(try store.receipt("ann", .mark(.restored, [.seq(old)])) == .unchanged)
            #expect(try store.refusal("ann", .snooze(.seq(old), until: .at(5))) == .itemGone(old))
        }
    }

    /// While the item was gone, a tick dropped the rows of what it was due at.
    @Test(arguments: StoreWay.allCases)
    func anItemThatIsBackExpiresAndWakes(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let old = try store.notify("ann", Self.collapsing)
            let other = try store.notify("ann", Content(title: "Other", collapseKey: "d"))
            try store.act("ann", .snooze(.seq(other), until: .at(10)))
            try store.act("ann", .mark(.deleted, [.seq(old), .seq(other)]))
            let restored = try store.act("ann", .mark(.restored, [.seq(old), .seq(other)]))
            let new = try store.notify("ann", Content(collapseKey: "c"))
            let newer = try store.notify("ann", Content(collapseKey: "d"))
            #expect(try store.tick(20) == TickReport(head: 7))
            #expect(try store.inbox("ann") == [newer, new])
            // Not restored, so not superseded.
            try store.act("ann", .undo(event: restored))
            #expect(try store.inbox("ann") == [newer, new])
            #expect(try store.tick(20) == TickReport(expired: 1, head: 9))
            try store.act("ann", .mark(.restored, [.seq(other)]))
            #expect(try store.tick(20) == TickReport(woken: 1, head: 11))
            #expect(try store.inbox("ann") == [other, newer, new])
            #expect(try store.receipt("ann", .mark(.restored, [.seq(old)])) == .unchanged)
        }
    }

    @Test func anItemThatIsBackIsDueAgainAlsoInOneTransaction() throws {
        try TestedStore.with(.atHand) { store throws in
            _ = try store.store.perform([
                command("ann", .notify(Self.collapsing)), command("ann", .mark(.deleted, [.seq(1)])),
                command("ann", .mark(.restored, [.seq(1)])), command("ann", .notify(Content(collapseKey: "c"))),
                command("ann", .undo(event: 3)),
            ])
            #expect(try store.tick(10) == TickReport(expired: 1, head: 6))
        }
    }
}
