import Testing
import TestSupport
@_spi(Internals) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries

/// One user with so many items that nothing may depend on their number; every count is held against plain loops.
@Suite struct LargeTrayTests {
    @Test func aLargeTrayIsExactAtEveryDepthAndNeverLoadedWhole() throws {
        try withStorePath { path in
            var items = PlainItems(count: sized(10_000, nightly: 1_000_000))
            try withStore(path, options(isRelaxed: true)) { store in
                for start in stride(from: 1, through: items.count, by: 5_000) {
                    let commands = (start..<start + 5_000).map { Command(user: "ann", .notify(items.content($0))) }
                    _ = try store.submit(commands, stopAtRefusal: true)
                }
                try items.expect(in: store, "filled")
            }
            for step in steps(items.count) {
                try withStore(path, options(tailEvents: 1_000, cacheBytes: 1 << 20, isRelaxed: true)) { store in
                    try expectSmall(store, items.count)
                    #expect(try store.perform(Command(user: "ann", step)).seq != nil, "\(step)")
                    items.apply(step)
                    try items.expect(in: store, "after \(step)")
                }
                try withReader(path) { try items.expect(in: $0, "reopened after \(step)") }
            }
            if isLong {
                #expect(try replay(path).identical)
                #expect(try findings(path).isEmpty)
            }
        }
    }

    private func steps(_ count: Int) -> [Command.Action] {
        func seq(_ item: Int) -> Seq { Seq(UInt64(item)) }
        let old = [1, 64, 65, 96, 97, count / 3, count / 2 + 1].map { ItemReference.seq(seq($0)) }
        return [
            .seeTray(upTo: seq(count / 2)),
            .mark(.read, old),
            .markAll(.read, ItemFilter(category: "category 2"), upTo: seq(count / 2)),
            .markAll(.read, ItemFilter(thread: .named("thread 3"))),
            .mark(.unread, old),
            .mark(.deleted, old),
            .markAll(
                .archived, ItemFilter(thread: .named("thread 1"), category: "category 4"), upTo: seq(count / 4 * 3)),
            .markAll(.deleted, ItemFilter(thread: .named("thread 5"))),
            .mark(.restored, old),
            .markAll(.deleted, ItemFilter(category: "category 0")),
            .markAll(.seen),
            .markAll(.read),
            .markAll(.archived, ItemFilter(), upTo: seq(count / 2)),
            .markAll(.deleted),
        ]
    }

    /// What lies in memory is the newest items alone, after any answer.
    private func expectSmall(_ store: Store, _ count: Int) throws {
        _ = try store.inbox(of: "ann", InboxQuery(limit: 100, cursor: Cursor(before: Seq(UInt64(count / 2)))))
        let state = try store.queries.source.read(.now, of: "ann") { $0.state }
        #expect(state.pages.isEmpty)
        #expect(state.tail.entries.count <= TrayState.tailLimit)
        #expect(state.sealedPages > UInt64(count / 1_000))
    }
}

/// The items of one user as plain arrays: item n is event n.
private struct PlainItems {
    private struct Item {
        var seen = false
        var read = false
        var archived = false
        var deleted = false
    }

    let count: Int
    private var items: [Item]
    private var seenUpTo = 0
    private var events: Int

    init(count: Int) {
        self.count = count
        items = Array(repeating: Item(), count: count)
        events = count
    }

    func content(_ item: Int) -> Content {
        Content(thread: "thread \(item % 7)", category: "category \(item % 5)")
    }

    mutating func apply(_ step: Command.Action) {
        events += 1
        switch step {
        case .seeTray(let upTo):
            seenUpTo = upTo.map { Int($0.rawValue) } ?? count
            for index in 0..<seenUpTo { items[index].seen = true }
        case .mark(let mark, let references):
            for case .seq(let seq) in references { apply(mark, Int(seq.rawValue) - 1) }
        case .markAll(let mark, let filter, let upTo): apply(mark, filter, upTo: upTo)
        default: preconditionFailure("no such step")
        }
    }

    private mutating func apply(_ mark: Mark, _ index: Int) {
        switch mark {
        case .read: (items[index].seen, items[index].read) = (true, true)
        case .unread: items[index].read = false
        case .deleted: items[index].deleted = true
        case .restored: items[index].deleted = false
        default: preconditionFailure("no such mark")
        }
    }

    private mutating func apply(_ mark: BulkMark, _ filter: ItemFilter, upTo: Seq?) {
        let end = upTo.map { Int($0.rawValue) } ?? count
        let thread: Int? = if case .named(let name) = filter.thread { name.last?.wholeNumberValue } else { nil }
        let category = filter.category?.last?.wholeNumberValue
        for index in 0..<min(end, count) {
            if let thread, (index + 1) % 7 != thread { continue }
            if let category, (index + 1) % 5 != category { continue }
            switch mark {
            case .seen: items[index].seen = true
            case .read: (items[index].seen, items[index].read) = (true, true)
            case .archived: if !items[index].deleted { items[index].archived = true }
            case .deleted: if !items[index].archived { items[index].deleted = true }
            }
        }
    }

    /// The tray, the first page and pages at several depths, filtered and not.
    func expect(in store: some BlockingQueries, _ label: String) throws {
        let tray = try store.tray(of: "ann")
        var expected = Tray(
            user: "ann", asOf: Seq(UInt64(events)), revision: UInt64(events), seenUpTo: Seq(UInt64(seenUpTo)))
        var categories = [(unseen: Int, unread: Int)](repeating: (0, 0), count: 5)
        for (index, item) in items.enumerated() where !item.deleted && !item.archived {
            expected.total += 1
            expected.newest = Seq(UInt64(index + 1))
            expected.newestCounted = expected.newest
            categories[(index + 1) % 5].unseen += item.seen ? 0 : 1
            categories[(index + 1) % 5].unread += item.read ? 0 : 1
        }
        expected.unseen = categories.reduce(0) { $0 + $1.unseen }
        expected.unread = categories.reduce(0) { $0 + $1.unread }
        expected.categories = categories.enumerated().filter { $1 != (0, 0) }.map {
            Tray.CategoryCounts(category: "category \($0)", unseen: $1.unseen, unread: $1.unread)
        }
        #expect((tray.seenAt != nil) == (seenUpTo > 0), "\(label)")
        expected.seenAt = tray.seenAt
        #expect(tray == expected, "\(label)")
        for before in [count + 1, count / 2, 130] {
            try expectPages(InboxQuery(limit: 50), before: before, pages: 3, in: store, label)
            let filtered = InboxQuery(ItemFilter(thread: .named("thread 2")), limit: 20)
            try expectPages(filtered, before: before, pages: 2, in: store, label)
        }
        let archived = InboxQuery(ItemFilter(categories: ["category 4"]), view: .archived, limit: 5)
        try expectPages(archived, before: 1_000, pages: 2, in: store, label)
    }

    private func expectPages(
        _ query: InboxQuery, before: Int, pages: Int, in store: some BlockingQueries, _ label: String
    ) throws {
        var query = query
        query.cursor = Cursor(before: Seq(UInt64(before)))
        var expected = shown(query, before: before, limit: query.limit * pages)[...]
        for _ in 0..<pages {
            let page = try store.inbox(of: "ann", query)
            #expect(
                page.elements.map { Int($0.seq.rawValue) } == Array(expected.prefix(query.limit)), "\(label), \(query)")
            for item in page.elements {
                let plain = items[Int(item.seq.rawValue) - 1]
                #expect(item.isSeen == plain.seen && item.isRead == plain.read && item.isArchived == plain.archived)
            }
            expected = expected.dropFirst(query.limit)
            guard let next = page.next else { break }
            query.cursor = next
        }
        #expect(expected.isEmpty, "\(label), \(query)")
    }

    private func shown(_ query: InboxQuery, before: Int, limit: Int) -> [Int] {
        let thread: Int? = if case .named(let name) = query.filter.thread { name.last?.wholeNumberValue } else { nil }
        let category = query.filter.categories.first?.last?.wholeNumberValue
        var found: [Int] = []
        var item = before - 1
        while item > 0, found.count < limit {
            let plain = items[item - 1]
            let isInView = !plain.deleted && plain.archived == (query.view == .archived)
            if isInView, thread == nil || item % 7 == thread, category == nil || item % 5 == category {
                found.append(item)
            }
            item -= 1
        }
        return found
    }
}
