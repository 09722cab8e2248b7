import TraylogDomain

/// The queries of Docs/concepts.md, each by looping over all items.
///
/// All take `asOf`; a seq beyond the head must be refused by the caller (``NaiveStore/checkedAsOf(_:)``).
extension NaiveStore {
    package func tray(of user: String, asOf: Seq? = nil) -> Tray {
        let state = snapshot(of: user, asOf)
        let own = events.prefix(Int((asOf ?? head).rawValue)).last { $0.user.map { Name($0) } == Name(user) }
        var tray = Tray(
            user: user, asOf: asOf ?? head, revision: own?.revision ?? 0, seenUpTo: state.seenUpTo, seenAt: state.seenAt
        )
        var categories: [Name: (unseen: Int, unread: Int)] = [:]
        for item in state.items where item.isListed {
            tray.total += 1
            tray.newest = max(tray.newest ?? .zero, item.position)
            if item.isCounted { tray.newestCounted = max(tray.newestCounted ?? .zero, item.position) }
            tray.unseen += item.isUnseen ? 1 : 0
            tray.unread += item.isUnread ? 1 : 0
            tray.awaiting += item.isCounted && item.isAwaiting ? 1 : 0
            guard let category = item.content.category, item.isUnseen || item.isUnread else { continue }
            var counts = categories[Name(category)] ?? (unseen: 0, unread: 0)
            counts.unseen += item.isUnseen ? 1 : 0
            counts.unread += item.isUnread ? 1 : 0
            categories[Name(category)] = counts
        }
        tray.categories = categories.sorted { $0.key < $1.key }.map {
            Tray.CategoryCounts(category: $0.key.text, unseen: $0.value.unseen, unread: $0.value.unread)
        }
        return tray
    }

    /// By scope; `since` is the naive store's time.
    package func mutes(of user: String, asOf: Seq? = nil) -> Mutes {
        func key(_ mute: NaiveMute) -> (Int, Name) {
            switch mute.scope {
            case .all: (0, Name(""))
            case .category(let name): (1, Name(name))
            case .thread(let name): (2, Name(name))
            case .topic(let name): (3, Name(name))
            }
        }
        let mutes = snapshot(of: user, asOf).mutes.sorted { key($0) < key($1) }
        return Mutes(
            user: user, asOf: asOf ?? head,
            mutes: mutes.map { Mute(scope: $0.scope, since: $0.sinceTime, until: $0.until) })
    }

    /// Every item that the query finds, newest position first, whatever its limit and cursor.
    package func matches(of user: String, _ query: InboxQuery, asOf: Seq? = nil) -> [Item] {
        let items = snapshot(of: user, asOf).items.filter { item in
            let isInView =
                switch query.view {
                case .inbox: item.isInInbox
                case .archived: item.isLive && item.archived
                case .snoozed: item.isLive && item.snoozedUntil != nil
                }
            return isInView && (query.filter.includeSilent || !item.content.isSilent)
                && !(query.filter.onlyUnread && item.read)
                && !(query.filter.onlyUnseen && item.seen) && (!query.filter.onlyAwaiting || item.isAwaiting)
                && item.matches(query.filter.thread, nil)
                && (query.filter.categories.isEmpty
                    || query.filter.categories.contains { Name($0) == Name(item.content.category) })
                && item.isFound(by: query.filter, of: user)
        }
        return items.sorted { $0.position > $1.position }.map(\.shown)
    }

    package func inbox(
        of user: String, _ query: InboxQuery = InboxQuery(), asOf: Seq? = nil
    ) throws(Refusal) -> Page<Item, Cursor> {
        try checkPage(query.limit)
        let (items, next) = page(
            matches(of: user, query, asOf: asOf), position: \.position, query.limit, query.cursor)
        return Page(items, next: next, asOf: asOf ?? head)
    }

    /// Every group, the one with the newest item first.
    package func groups(of user: String, asOf: Seq? = nil) -> [ThreadGroup] {
        let listed = snapshot(of: user, asOf).items.filter(\.isListed).sorted { $0.position > $1.position }
        var groups: [ThreadGroup] = []
        var done: Set<Name?> = []
        for newest in listed where done.insert(Name(newest.content.thread)).inserted {
            let members = listed.filter { Name($0.content.thread) == Name(newest.content.thread) }
            let others = members.dropFirst().map(\.content)
            var names: [Name] = []
            for name in others.compactMap({ Name($0.summaryArgument) }) where !names.contains(name) {
                names.append(name)
            }
            groups.append(
                ThreadGroup(
                    thread: newest.content.thread, count: members.count,
                    unseen: members.filter(\.isUnseen).count, unread: members.filter(\.isUnread).count,
                    newest: newest.shown, more: others.reduce(0) { $0 + Int($1.summaryCount) },
                    names: names.map(\.text)))
        }
        return groups
    }

    package func threads(
        of user: String, limit: Int = 20, cursor: Cursor? = nil, asOf: Seq? = nil
    ) throws(Refusal) -> Page<ThreadGroup, Cursor> {
        try checkPage(limit)
        let (threads, next) = page(groups(of: user, asOf: asOf), position: \.newest.position, limit, cursor)
        return Page(threads, next: next, asOf: asOf ?? head)
    }

    package func history(of user: String, from: Seq = 1, limit: Int = .max, asOf: Seq? = nil) -> [Event] {
        let own = events.filter { event in
            event.seq >= from && event.seq <= asOf ?? head && !dropped.contains(event.seq) && event.user != nil
                && Name(event.user) == Name(user)
        }
        return Array(own.prefix(limit))
    }

    package func log(from: Seq = 1, limit: Int = .max, asOf: Seq? = nil) -> [Event] {
        let range = events.filter { $0.seq >= from && $0.seq <= asOf ?? head && !dropped.contains($0.seq) }
        return Array(range.prefix(limit))
    }

    /// One item, in any state.
    package func item(_ reference: ItemReference, of user: String, asOf: Seq? = nil) throws(Refusal) -> Item {
        let end = asOf ?? head
        let seq: Seq? =
            switch reference {
            case .seq(let seq): seq
            case .key(let key): notified(key, of: user)
            }
        guard let seq, seq <= end, let item = snapshot(of: user, asOf).item(seq), !item.scheduled else {
            throw .unknownItem(reference)
        }
        if dropped.contains(seq) { throw compacted }
        return item.shown
    }

    /// Everyone who has an event, in byte order.
    package func users(
        after name: String? = nil, prefix: String = "", limit: Int = .max, asOf: Seq? = nil
    ) -> [String] {
        let names = Set(events.filter { $0.seq <= asOf ?? head }.compactMap { Name($0.user) }).sorted()
        let rest = names.filter { candidate in
            candidate.text.utf8.starts(with: prefix.utf8) && Name(name).map { $0 < candidate } ?? true
        }
        return rest.prefix(limit).map(\.text)
    }

    /// Every topic that anything was broadcast to.
    package func topics() -> Set<Name> {
        Set(
            events.compactMap { event in
                if case .broadcast(let topic, _) = event.body { Name(topic) } else { nil }
            })
    }

    /// The seq that a query `asOf` a time sees.
    package func seq(at time: Timestamp) -> Seq {
        events.last { $0.recordedAt <= time }?.seq ?? .zero
    }

    package func checkedAsOf(_ seq: Seq) throws(Refusal) -> Seq {
        if seq > head { throw .upToBeyondHead(seq, head: head, field: "asOf") }
        return seq
    }

    func snapshot(of user: String, _ asOf: Seq?) -> NaiveUser {
        asOf.map { state(of: user, asOf: $0) } ?? state(of: user)
    }

    private func checkPage(_ limit: Int) throws(Refusal) {
        if !(1...100).contains(limit) { throw .invalid(field: "limit", reason: "1…100") }
    }

    private func page<Row>(
        _ rows: [Row], position: (Row) -> Seq, _ limit: Int, _ cursor: Cursor?
    ) -> ([Row], Cursor?) {
        let rest = rows.filter { row in cursor.map { position(row) < $0.before } ?? true }
        let rows = Array(rest.prefix(limit))
        guard rest.count > rows.count, let last = rows.last else { return (rows, nil) }
        return (rows, Cursor(before: position(last)))
    }
}
