extension TrayState {
    /// Visits items from the newest whose position is below `limit` to the oldest, while `body` says so.
    ///
    /// - Complexity: O(items visited).
    package func forEachItem(
        below limit: UInt64, stored: some StatePages, _ body: (ItemPage, ItemEntry) throws -> Bool
    ) throws {
        for index in stride(from: tail.firstIndex(atOrAbove: limit) - 1, through: 0, by: -1) {
            guard try body(tail, tail.entries[index]) else { return }
        }
        let bound = tail.entries.isEmpty ? limit : min(limit, tail.first)
        try forEachSealedPage(below: bound, stored: stored) { page in
            for index in stride(from: page.firstIndex(atOrAbove: bound) - 1, through: 0, by: -1) {
                guard try body(page, page.entries[index]) else { return false }
            }
            return true
        }
    }

    /// The tray as the state has it; categories are named from the log.
    package func tray(of user: String, asOf: Seq, source: some StateSource) throws -> Tray {
        var tray = Tray(
            user: user, asOf: asOf, unseen: unseen, unread: unread, total: total, seenUpTo: Seq(seenUpTo))
        if total > 0 {
            try forEachItem(below: .max, stored: source) { _, entry in
                guard entry.flags.isListed else { return true }
                tray.newest = Seq(entry.position)
                return false
            }
        }
        for count in categories {
            guard let name = try source.category(count) else { continue }
            tray.categories.append(
                Tray.CategoryCounts(category: name, unseen: count.unseen, unread: count.unread))
        }
        tray.categories.sort { $0.category.precedesInBytes($1.category) }
        return tray
    }

    /// The items of one page of the inbox, newest position first, and where the next page starts.
    package func shownItems(
        _ query: InboxQuery, hasher: IdentityHasher, stored: some StatePages
    ) throws -> (items: [ShownItem], next: Cursor?) {
        let filter = ItemFilter(query, hasher: hasher)
        var items: [ShownItem] = []
        items.reserveCapacity(min(query.limit, 32))
        var next: Cursor?
        try forEachItem(below: query.cursor?.before.rawValue ?? .max, stored: stored) { page, entry in
            let seen = isSeen(entry)
            guard filter.admits(entry, seen: seen) else { return true }
            guard items.count < query.limit else {
                next = items.last.map { Cursor(before: Seq($0.entry.position)) }
                return false
            }
            let overrides = page.overrides.isEmpty ? [] : Array(page.overrides(of: entry.seq))
            items.append(ShownItem(entry: entry, isSeen: seen, overrides: overrides))
            return true
        }
        return (items, next)
    }
}

/// An ``InboxQuery`` in terms of entries.
private struct ItemFilter {
    let query: InboxQuery
    let thread: UInt64
    let category: UInt64

    init(_ query: InboxQuery, hasher: IdentityHasher) {
        self.query = query
        if case .named(let name) = query.thread {
            thread = hasher.identity(of: name, as: .thread)
        } else {
            thread = 0
        }
        category = hasher.identity(of: query.category, as: .category)
    }

    func admits(_ entry: ItemEntry, seen: Bool) -> Bool {
        let flags = entry.flags
        let inView =
            switch query.view {
            case .inbox: flags.isInInbox
            case .archived: flags.isLive && flags.contains(.archived)
            case .snoozed: flags.isLive && flags.contains(.snoozed)
            }
        guard inView, query.includeSilent || !flags.contains(.silent) else { return false }
        if query.onlyUnread, flags.contains(.read) { return false }
        if query.onlyUnseen, seen { return false }
        if category != 0, entry.category != category { return false }
        switch query.thread {
        case .any: return true
        case .unthreaded: return entry.thread == 0
        case .named: return entry.thread == thread
        }
    }
}
