import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// A fetcher compared with a list that is computed from the whole inbox each time.
struct FetcherModelTests {
    /// The items that a fetcher should have, computed independently from the rules.
    private struct NaiveFetcher {
        let pageSize: Int
        let limit: Int
        var items: [Item] = []
        /// Items below this position are not loaded.
        var bound: Seq = .zero
        var shownUpTo: Seq?

        var endReached: Bool { shownUpTo != nil && (bound == .zero || items.count >= limit) }

        /// - Parameter inbox: all of it, newest first.
        mutating func fetchNew(_ inbox: [Item], head: Seq) -> (new: [Seq], gap: Bool) {
            let known = items.map(\.seq)
            let page = Array(inbox.prefix(min(pageSize, limit)))
            let pageBound = page.count < inbox.count ? page.last?.position ?? .zero : .zero
            let fresh = inbox.filter { item in shownUpTo.map { item.position > $0 } ?? true }
            let gap = shownUpTo != nil && fresh.count > page.count
            if shownUpTo == nil || gap {
                (items, bound) = (page, pageBound)
            } else {
                items = page + items.filter { $0.position < pageBound }
                bound = min(bound, pageBound)
            }
            if items.count > limit {
                items = Array(items.prefix(limit))
                bound = items[limit - 1].position
            }
            shownUpTo = head
            return (items.map(\.seq).filter { !known.contains($0) }, gap)
        }

        mutating func fetchNextPage(_ inbox: [Item]) -> [Seq] {
            let below = inbox.filter { $0.position < bound }
            let page = Array(below.prefix(min(pageSize, limit - items.count)))
            items += page
            bound = page.count < below.count ? page.last?.position ?? .zero : .zero
            return page.map(\.seq)
        }
    }

    @Test(arguments: seeds(10, nightly: 2_000))
    func aFetcherHoldsWhatTheInboxHolds(seed: UInt64) async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            do {
                var random = SeededRandom(seed: seed)
                let showsSilent = random.chance(20)
                let (pageSize, limit) = (random.between(1, 8), random.pick([0, 1, 5, 20]))
                let fetcher = try InboxFetcher(
                    store, of: "ann", pageSize: pageSize, limit: limit,
                    query: InboxQuery(ItemFilter(includeSilent: showsSilent)))
                var naive = NaiveFetcher(pageSize: pageSize, limit: limit == 0 ? .max : limit)
                for step in 0..<80 {
                    let inbox = try wholeInbox(store, includeSilent: showsSilent)
                    switch random.below(10) {
                    case 0..<2:
                        let result = try await fetcher.fetchNew()
                        let expected = naive.fetchNew(inbox, head: try await store.log.head())
                        #expect(result.new.map(\.seq) == expected.new, "seed \(seed) step \(step)")
                        #expect(result.hasGap == expected.gap, "seed \(seed) step \(step)")
                    case 2..<4:
                        try await fetchNextPage(
                            fetcher, &naive, inbox, try await store.log.head(), "seed \(seed) step \(step)")
                    case 4: try await mark(fetcher, &naive, &random)
                    case 5:
                        try await fetcher.update()
                        let known = Set(naive.items.map(\.seq))
                        naive.items = inbox.filter { known.contains($0.seq) }
                    default: try change(store, &random)
                    }
                    #expect(fetcher.items == naive.items, "seed \(seed) step \(step)")
                    #expect(fetcher.endReached == naive.endReached, "seed \(seed) step \(step)")
                }
            }
            await store.close()
        }
    }

    private func fetchNextPage(
        _ fetcher: InboxFetcher<Store>, _ naive: inout NaiveFetcher, _ inbox: [Item], _ head: Seq, _ label: Comment
    ) async throws {
        guard !naive.endReached else {
            await #expect(throws: TraylogError.refused(.endReached), label) { try await fetcher.fetchNextPage() }
            return
        }
        let result = try await fetcher.fetchNextPage()
        let isFirst = naive.shownUpTo == nil
        let expected = isFirst ? naive.fetchNew(inbox, head: head).new : naive.fetchNextPage(inbox)
        #expect(result.new.map(\.seq) == expected, label)
    }

    private func mark(
        _ fetcher: InboxFetcher<Store>, _ naive: inout NaiveFetcher, _ random: inout SeededRandom
    ) async throws {
        guard !naive.items.isEmpty else { return }
        let index = random.below(naive.items.count)
        switch random.below(3) {
        case 0:
            try await fetcher.mark(.deleted, naive.items[index])
            naive.items.remove(at: index)
        case 1:
            try await fetcher.mark(.read, naive.items[index])
            (naive.items[index].isRead, naive.items[index].isSeen) = (true, true)
        default:
            try await fetcher.markAllAsRead()
            for index in naive.items.indices { (naive.items[index].isRead, naive.items[index].isSeen) = (true, true) }
        }
    }

    /// What others do to the inbox.
    private func change(_ store: Store, _ random: inout SeededRandom) throws {
        let head = try store.head().rawValue
        let items = try store.events(limit: .max).elements.filter { $0.kind == .notified && $0.user == "ann" }.map(
            \.seq)
        guard head > 0, !items.isEmpty, random.chance(50) else {
            let content = Content(title: "T", isSilent: random.chance(15))
            _ = try store.perform((0..<random.between(1, 6)).map { _ in Command(user: "ann", .notify(content)) })
            return
        }
        let item = ItemReference.seq(random.pick(items))
        var edit = ContentEdit()
        edit.title = .set("T\(head)")
        let mark = random.pick(Mark.allCases)
        let action = random.pick([Command.Action.mark(mark, [item]), .edit(item, edit), .retract(item), .seeTray()])
        do throws(TraylogError) {
            _ = try store.perform(Command(user: "ann", action))
        } catch {
            // An item that is gone takes no edit.
            guard case .refused(.itemGone) = error else { throw error }
        }
    }

    private func wholeInbox(_ store: Store, includeSilent: Bool) throws -> [Item] {
        var items: [Item] = []
        var query = InboxQuery(ItemFilter(includeSilent: includeSilent), limit: 100)
        while true {
            let page = try store.inbox(of: "ann", query)
            items += page.elements
            guard let next = page.next else { return items }
            query.cursor = next
        }
    }
}
