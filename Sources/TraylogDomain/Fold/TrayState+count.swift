extension TrayState {
    /// Whether an item is seen; one that is gone or has not arrived has its own flag alone, because ``seenMark`` moves on
    /// without it.
    package func isSeen(_ entry: ItemEntry) -> Bool {
        entry.flags.contains(.seen)
            || (entry.position <= seenMark && entry.flags.isDisjoint(with: [.gone, .scheduled]))
    }

    /// Adds an item to the counts, or takes it away.
    mutating func count(_ entry: ItemEntry, adding: Bool) {
        guard entry.flags.isListed else { return }
        let one: UInt64 = adding ? 1 : .max
        total &+= one
        newest.listed.note(entry.position, adding: adding)
        guard !entry.flags.contains(.muted) else { return }
        newest.counted.note(entry.position, adding: adding)
        if entry.flags.isAwaiting { awaiting &+= one }
        let unseenOne = isSeen(entry) ? 0 : one
        let unreadOne = entry.flags.contains(.read) ? 0 : one
        guard unseenOne != 0 || unreadOne != 0 else { return }
        unseen &+= unseenOne
        unread &+= unreadOne
        if entry.category != .absent {
            count(entry.category, namedBy: entry.seq, unseen: unseenOne, unread: unreadOne)
        }
    }

    mutating func count(_ category: Identity, namedBy seq: UInt64, unseen: UInt64, unread: UInt64) {
        let index = categories.bisect { $0.category < category }
        if index == categories.count || categories[index].category != category {
            let new = CategoryCount(category: category, namedBy: seq, unseen: unseen, unread: unread)
            categories.insert(new, at: index)
            return
        }
        categories[index].unseen &+= unseen
        categories[index].unread &+= unread
        if categories[index].unseen == 0, categories[index].unread == 0 { categories.remove(at: index) }
    }
}

extension TrayState {
    /// Finds the newest items again, when those before an event are no longer among them.
    ///
    /// - Complexity: O(items between the old and the new ones).
    mutating func findNewest(since before: NewestItems, stored: some StatePages) throws {
        guard newest.listed < before.listed || newest.counted < before.counted else { return }
        guard total > 0 else { return newest = NewestItems() }
        // Positions that are as new as before, or newer, were noted when they were counted.
        if newest.listed < before.listed { newest.listed = 0 }
        if newest.counted < before.counted { newest.counted = 0 }
        let bound = newest.listed == 0 ? before.listed : before.counted
        var found = newest
        try forEachItem(below: bound &+ 1, stored: stored) { _, entry in
            if found.listed == 0, entry.flags.isListed { found.listed = entry.position }
            if found.counted == 0, entry.flags.isCounted { found.counted = entry.position }
            return found.listed == 0 || found.counted == 0
        }
        newest = found
    }
}

extension UInt64 {
    /// Keeps this the newest of the positions noted; 0 after that one was taken away.
    fileprivate mutating func note(_ position: UInt64, adding: Bool) {
        if adding {
            self = Swift.max(self, position)
        } else if self == position {
            self = 0
        }
    }
}

extension TrayState {
    /// The counts of the items above `position`, of one category or, if absent, of all.
    ///
    /// A state that has nothing else. A range mark counts what it leaves rather than taking away what it covers, because little lies above it.
    ///
    /// - Complexity: O(items above `position`).
    func counts(above position: UInt64, category: Identity, stored: some StatePages) throws -> TrayState {
        var scratch = TrayState()
        scratch.seenMark = seenMark
        for entry in tail.entries where entry.position > position {
            if category == .absent || entry.category == category { scratch.count(entry, adding: true) }
        }
        if position < tail.first {
            try forEachSealedPage(below: .max, stored: stored) { page in
                for entry in page.entries where entry.position > position {
                    if category == .absent || entry.category == category { scratch.count(entry, adding: true) }
                }
                return page.first > position
            }
        }
        return scratch
    }
}
