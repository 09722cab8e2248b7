extension InboxQuery {
    /// The most items that one page of a search looks at.
    ///
    /// A search is a query by fields that are only in the log: actor, level, times, text. After this number of items its page ends,
    /// even empty, and ``Page/next`` goes on.
    package static let searchedItems = 10_000
}

extension TrayState {
    /// The items of one page of the inbox, newest position first, and where the next page starts.
    ///
    /// - Complexity: O(items passed over), and an event is read for each that only the log can tell about.
    package func shownItems(
        _ query: InboxQuery, of user: String, hasher: IdentityHasher, stored: some StateSource
    ) throws -> (items: [ShownItem], next: Cursor?) {
        let filter = EntryFilter(query, hasher: hasher)
        var items: [ShownItem] = []
        items.reserveCapacity(min(query.limit, 32))
        var next: Cursor?
        var search = ItemSearch(query.filter, of: user)
        try forEachItem(below: query.cursor?.before.rawValue ?? .max, stored: stored) { page, entry in
            let seen = isSeen(entry)
            guard filter.admits(entry, seen: seen) else { return true }
            let isFull = items.count == query.limit
            guard !isFull || search != nil else {
                next = items.last.map { Cursor(before: Seq($0.entry.position)) }
                return false
            }
            let overrides = page.overrides.isEmpty ? [] : Array(page.overrides(of: entry.seq))
            let item = ShownItem(entry: entry, isSeen: seen, overrides: overrides)
            switch try search?.look(at: item, in: stored) ?? .found {
            case .found where isFull: next = items.last.map { Cursor(before: Seq($0.entry.position)) }
            case .found: items.append(item)
            case .other: return true
            case .end: return false
            case .tired(let before): next = Cursor(before: Seq(before))
            }
            return next == nil
        }
        return (items, next)
    }
}

/// The part of an ``InboxQuery`` that entries answer.
private struct EntryFilter {
    /// The flags that an entry must have.
    private var wanted: ItemFlags = []
    /// The flags that it must not have.
    private var unwanted: ItemFlags = [.deleted, .gone, .scheduled]
    private let onlyUnseen: Bool
    /// Any category when empty.
    private let categories: [Identity]
    /// Any thread when nil.
    private let thread: Identity?

    init(_ query: InboxQuery, hasher: IdentityHasher) {
        let filter = query.filter
        switch query.view {
        case .inbox: unwanted.formUnion([.archived, .snoozed])
        case .archived: wanted.insert(.archived)
        case .snoozed: wanted.insert(.snoozed)
        }
        if !filter.includeSilent { unwanted.insert(.silent) }
        if filter.onlyUnread { unwanted.insert(.read) }
        if filter.onlyAwaiting {
            wanted.insert(.actionable)
            unwanted.insert(.acted)
        }
        onlyUnseen = filter.onlyUnseen
        categories = filter.categories.map { hasher.identity(of: $0, as: .category) }
        thread =
            switch filter.thread {
            case .any: nil
            case .unthreaded: .absent
            case .named(let name): hasher.identity(of: name, as: .thread)
            }
    }

    func admits(_ entry: ItemEntry, seen: Bool) -> Bool {
        guard entry.flags.isSuperset(of: wanted), entry.flags.isDisjoint(with: unwanted), !(onlyUnseen && seen)
        else { return false }
        if let thread, entry.thread != thread { return false }
        return categories.isEmpty || categories.contains(entry.category)
    }
}

extension ItemFilter {
    /// Whether the items' events decide, and not their entries in the state alone: then a page reads events that it does not show.
    package var readsEvents: Bool {
        actor != nil || level ?? .passive != .passive || since != nil || until != nil
            || text.map { TextSearch($0) != nil } ?? false
    }
}

/// The part of a filter that takes a look into the log, for one page.
private struct ItemSearch {
    enum Outcome {
        case found, other
        /// No item below is found either.
        case end
        /// Enough was looked at; the next page holds positions below this one.
        case tired(before: UInt64)
    }

    private let user: String
    private let filter: ItemFilter
    private var words: TextSearch?
    private var looked = 0
    /// The position of the item that was looked at last.
    private var last: UInt64 = 0

    init?(_ filter: ItemFilter, of user: String) {
        guard filter.readsEvents else { return nil }
        words = filter.text.flatMap { TextSearch($0) }
        self.filter = filter
        self.user = user
    }

    mutating func look(at item: ShownItem, in source: some StateSource) throws -> Outcome {
        guard looked < InboxQuery.searchedItems else { return .tired(before: last) }
        looked += 1
        last = item.entry.position
        let origin = try source.event(item.entry.seq)
        if let until = filter.until, origin.recordedAt > until { return .other }
        if let since = filter.since, origin.recordedAt < since {
            // Below an item in its first place all are older.
            return item.entry.position == item.entry.seq ? .end : .other
        }
        if let actor = filter.actor, !(origin.sender(to: user)?.hasSameBytes(as: actor) ?? false) { return .other }
        guard filter.level != nil || words != nil else { return .found }
        let content = try item.content(origin, from: source)
        if let level = filter.level, content.level < level { return .other }
        return words?.matches(content.title, content.body) ?? true ? .found : .other
    }
}

extension Event {
    /// The sender of the item that the event brought.
    ///
    /// If nobody is named: the user, or nil for a broadcast.
    fileprivate func sender(to user: String) -> String? {
        switch body {
        case .notified: actor ?? user
        case .broadcast: actor
        default: nil
        }
    }
}
