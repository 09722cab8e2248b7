@_spi(Operations) import TraylogQueries
@_spi(Operations) import TraylogChecks
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// The reported changes are the differences between the two moments, and the named events made them.
@Suite struct DifferenceTests {
    @Test(arguments: [StoreWay.atHand, .reader], seeds(1, nightly: 60))
    func aComparisonOfTwoMomentsNamesTheItemsThatDiffer(way: StoreWay, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try TestedStore.with(way) { tested in
            let users = try tested.play(seed: 200 + seed, steps: 250, mix: HistoryMix.typical.with(.all))
            let head = try tested.store.head().rawValue
            for user in users {
                let from = UInt64(random.between(0, Int(head)))
                let to = UInt64(random.between(Int(from), Int(head)))
                let moments = (Moment.seq(Seq(from)), Moment.seq(Seq(to)))
                let difference = try tested.ask { try $0.difference(of: user, from: moments.0, to: moments.1) }
                #expect(try difference.before == tested.store.tray(of: user, asOf: moments.0))
                #expect(try difference.after == tested.store.tray(of: user, asOf: moments.1))
                try check(difference, tested.store)
                let limit = random.between(0, 20)
                let newest = try tested.ask {
                    try $0.difference(of: user, from: moments.0, to: moments.1, limit: limit)
                }
                #expect(newest.items == difference.items.suffix(limit), "seed \(seed), \(user), newest \(limit)")
                #expect(newest.steps == difference.steps.suffix(limit), "seed \(seed), \(user), newest \(limit)")
                #expect(newest.before == difference.before && newest.after == difference.after)
            }
        }
    }

    @Test func aNegativeLimitIsRefused() throws {
        try TestedStore.with(.atHand) { tested in
            try tested.act("ann", .notify(Content(title: "1")))
            for limit in [-1, Int.min] {
                let error = #expect(throws: TraylogError.self) {
                    try tested.store.difference(of: "ann", from: .seq(0), limit: limit)
                }
                #expect(error?.refusal?.code == .invalid && error?.message.hasPrefix("limit") == true)
            }
        }
    }

    private func check(_ difference: TrayDifference, _ store: Store) throws {
        let (old, new) = (
            try shown(difference.user, difference.before.asOf, store),
            try shown(difference.user, difference.after.asOf, store)
        )
        let said = Dictionary(uniqueKeysWithValues: difference.items.map { ($0.item, $0) })
        for seq in Set(old.keys).union(new.keys) {
            #expect((old[seq] != new[seq]) == (said[seq] != nil), "item \(seq): \(difference.user)")
        }
        let steps = Set(difference.steps.map(\.seq))
        for change in difference.items {
            #expect(!change.by.isEmpty && steps.isSuperset(of: change.by), "item \(change.item)")
            #expect(change.by == change.by.sorted())
            let (before, after) = (old[change.item], new[change.item])
            switch change.kind {
            case .appeared: #expect(change.after.isListed && !(change.before?.isListed ?? false))
            case .disappeared: #expect(!change.after.isListed && change.before?.isListed == true)
            case .changed: #expect((change.before?.isListed ?? false) == change.after.isListed)
            }
            if let after {
                #expect(change.after.isRead == after.isRead && change.after.isSeen == after.isSeen)
                #expect(change.content == after.content)
            }
            if let before { #expect(change.before?.isRead == before.isRead && change.before?.isSeen == before.isSeen) }
        }
    }

    /// Every item that any view shows.
    private func shown(_ user: String, _ seq: Seq, _ store: Store) throws -> [Seq: Item] {
        var items: [Seq: Item] = [:]
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            var query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
            repeat {
                let page = try store.inbox(of: user, query, asOf: .seq(seq))
                for item in page.elements { items[item.seq] = item }
                query.cursor = page.next
            } while query.cursor != nil
        }
        return items
    }

    @Test func aComparisonOfTwoMomentsNamesTheEventsBetweenThem() throws {
        try TestedStore.with(.atHand) { tested in
            try tested.notify("ann", Content(title: "One"))
            try tested.notify("ann", Content(title: "Two", collapseKey: "c"))
            try tested.act("ann", .seeTray())
            try tested.act("ann", .mark(.read, [.seq(1)]))
            try tested.notify("ann", Content(title: "Three", collapseKey: "c"))
            try tested.act("ann", .markAll(.archived, ItemFilter()))
            try tested.act("ann", .undo(event: 6))
            let difference = try tested.store.difference(of: "ann", from: .seq(2))
            #expect(difference.items.map(\.item) == [1, 2, 5])
            #expect(difference.items.map(\.by) == [[3, 4, 6, 7], [3, 5], [5, 6, 7]])
            #expect(difference.items.map(\.kind) == [.changed, .disappeared, .appeared])
            #expect(difference.steps.map(\.seq) == [3, 4, 5, 6, 7])
        }
    }

    @Test func aTrayDoesNotDifferFromItself() throws {
        try TestedStore.with(.atHand) { tested in
            try tested.notify("ann")
            let difference = try tested.store.difference(of: "ann", from: .seq(1), to: .seq(1))
            #expect(difference.items.isEmpty && difference.steps.isEmpty)
            #expect(try tested.store.difference(of: "bob", from: .seq(0)).items.isEmpty)
            #expect(throws: TraylogError.refused(.upToBeyondHead(2, head: 1, field: "from"))) {
                try tested.store.difference(of: "ann", from: .seq(2))
            }
        }
    }
}
