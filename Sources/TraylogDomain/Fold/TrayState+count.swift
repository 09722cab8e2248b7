extension TrayState {
    package func isSeen(_ entry: ItemEntry) -> Bool {
        entry.flags.contains(.seen) || entry.position <= seenMark
    }

    /// Adds an item to the counts, or takes it away.
    mutating func count(_ entry: ItemEntry, adding: Bool) {
        guard entry.flags.isListed else { return }
        let one: UInt64 = adding ? 1 : .max
        total &+= one
        guard !entry.flags.contains(.muted) else { return }
        let unseenOne = isSeen(entry) ? 0 : one
        let unreadOne = entry.flags.contains(.read) ? 0 : one
        guard unseenOne != 0 || unreadOne != 0 else { return }
        unseen &+= unseenOne
        unread &+= unreadOne
        if entry.category != 0 {
            count(entry.category, namedBy: entry.seq, unseen: unseenOne, unread: unreadOne)
        }
    }

    mutating func count(_ category: UInt64, namedBy seq: UInt64, unseen: UInt64, unread: UInt64) {
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

/// The counts of a set of items.
struct Counts {
    var total: UInt64 = 0
    var unseen: UInt64 = 0
    var unread: UInt64 = 0
    var categories: [CategoryCount] = []
}

extension TrayState {
    /// The counts of the items above `position`, of one category or of all (0).
    ///
    /// A range mark counts what it leaves rather than taking away what it covers, because little lies above it.
    ///
    /// - Complexity: O(items above `position`).
    func counts(above position: UInt64, category: UInt64, stored: some StatePages) throws -> Counts {
        var scratch = TrayState()
        scratch.seenMark = seenMark
        for entry in tail.entries where entry.position > position {
            if category == 0 || entry.category == category { scratch.count(entry, adding: true) }
        }
        if position < tail.first {
            try forEachSealedPage(below: .max, stored: stored) { page in
                for entry in page.entries where entry.position > position {
                    if category == 0 || entry.category == category { scratch.count(entry, adding: true) }
                }
                return page.first > position
            }
        }
        return Counts(
            total: scratch.total, unseen: scratch.unseen, unread: scratch.unread, categories: scratch.categories)
    }
}
