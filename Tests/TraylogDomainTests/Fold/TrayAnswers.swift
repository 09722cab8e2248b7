import TestSupport
import Testing

@testable import TraylogDomain

/// The naive model's answers, to compare with a state's.
struct TrayAnswers {
    let naive: NaiveStore
    let hasher: IdentityHasher
    let seed: UInt64
    private let user = TrayHistory.user

    init(of run: TrayRun) {
        naive = run.naive
        hasher = run.hasher
        seed = run.seed
    }

    private var place: Comment { "seed \(seed), after \(naive.head)" }

    func expectTray(_ state: TrayState, _ source: some StateSource) throws {
        let tray = try state.tray(of: user, asOf: naive.head, source: source)
        let expected = naive.tray(of: user)
        #expect(tray == expected, place)
        let names = zip(tray.categories, expected.categories).allSatisfy { $0.category.hasSameBytes(as: $1.category) }
        #expect(names, place)
    }

    func expectAll(_ state: TrayState, _ source: some StateSource, _ random: inout SeededRandom) throws {
        try expectTray(state, source)
        try expectItems(state, source)
        for _ in 0..<4 { try expectInbox(inbox(&random), state, source) }
        let items = naive.state(of: user).items.map(\.shown)
        try expectInbox(InboxQuery(random.search(items, of: user), limit: random.between(1, 100)), state, source)
        try expectThreads(limit: random.pick([1, 3, 100]), state, source)
        try expectKeys(state, source)
    }

    /// Every item's flags, deleted and gone ones, too.
    private func expectItems(_ state: TrayState, _ source: some StateSource) throws {
        let items = naive.state(of: user).items
        var visited: [UInt64] = []
        try state.forEachItem(below: .max, stored: source) { _, entry in
            visited.append(entry.position)
            return true
        }
        #expect(visited == items.map(\.position.rawValue).reversed(), place)
        for item in items {
            let found = try #require(try state.entry(of: item.seq.rawValue, stored: source), place)
            let flags = found.flags
            #expect(flags.contains(.gone) == item.gone, place)
            if item.gone { continue }
            let ours = [
                state.isSeen(found), flags.contains(.read), flags.contains(.archived), flags.contains(.deleted),
                flags.contains(.muted), flags.contains(.silent),
            ]
            let theirs = [item.seen, item.read, item.archived, item.deleted, item.muted, item.content.isSilent]
            #expect(ours == theirs, "seed \(seed), after \(naive.head): item \(item.seq)")
        }
        let position = items.isEmpty ? 0 : items[items.count / 2].position.rawValue
        #expect(try state.newestPosition(atOrBelow: position, stored: source) == position, place)
    }

    private func inbox(_ random: inout SeededRandom) -> InboxQuery {
        InboxQuery(
            ItemFilter(
                includeSilent: random.chance(30), onlyUnread: random.chance(30), onlyUnseen: random.chance(20),
                onlyAwaiting: random.chance(15),
                thread: random.pick([.any, .any, .unthreaded, .named(random.pick(TrayHistory.threads))]),
                categories: random.chance(30)
                    ? (0...random.below(2)).map { _ in random.pick(TrayHistory.categories) } : []),
            view: random.chance(75) ? .inbox : .archived, limit: random.between(1, 100))
    }

    private func expectInbox(_ query: InboxQuery, _ state: TrayState, _ source: some StateSource) throws {
        var query = query
        var rest = naive.matches(of: user, query)[...]
        repeat {
            let page = try state.shownItems(query, of: user, hasher: hasher, stored: source)
            let items = try page.items.map { try $0.item(from: source) }
            let expected = rest.prefix(query.limit)
            let same = items.elementsEqual(expected) {
                $0 == $1 && $0.content.hasSameValues(as: $1.content)
                    && $0.content.data.hasSameBytes(as: $1.content.data)
            }
            #expect(same, "seed \(seed), after \(naive.head): \(query)")
            rest = rest.dropFirst(query.limit)
            #expect((page.next == nil) == rest.isEmpty, "seed \(seed), after \(naive.head): \(query)")
            query.cursor = page.next
        } while query.cursor != nil
    }

    private func expectThreads(limit: Int, _ state: TrayState, _ source: some StateSource) throws {
        var groups: [ThreadGroup] = []
        var cursor: Cursor?
        repeat {
            let page = try state.threads(asOf: naive.head, limit: limit, cursor: cursor, source: source)
            groups += page.elements
            cursor = page.next
            #expect(cursor == nil || page.elements.count == limit, place)
        } while cursor != nil
        let expected = naive.groups(of: user)
        #expect(groups == expected, place)
        #expect(zip(groups, expected).allSatisfy { sameBytes($0, $1) }, place)
    }

    private func expectKeys(_ state: TrayState, _ source: some StateSource) throws {
        for event in naive.events where event.key != nil && event.user == user {
            let identity = hasher.identity(of: event.key, as: .key)
            let found = try state.keys.seqs(of: identity.rawValue, load: source.load(.keys))
            #expect(found == [event.seq.rawValue], "seed \(seed), after \(naive.head): key of \(event.seq)")
        }
    }
}
