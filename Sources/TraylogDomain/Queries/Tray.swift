/// One user's summary, for a bell icon; all counts are exact.
public struct Tray: Hashable, Sendable {
    /// Unseen and unread of one category.
    public struct CategoryCounts: Hashable, Sendable, Codable {
        /// The category.
        public var category: String
        /// Counted items that are not seen.
        public var unseen: Int
        /// Counted items that are not read.
        public var unread: Int

        /// The counts of one category, as a tray has them.
        public init(category: String, unseen: Int, unread: Int) {
            self.category = category
            self.unseen = unseen
            self.unread = unread
        }
    }

    /// The user of the tray.
    public var user: String
    /// The newest event that the answer reflects.
    public var asOf: Seq
    /// The revision of the user's newest event; 0 for a user without events.
    public var revision: UInt64
    /// Counted items that were not seen.
    public var unseen: Int
    /// Counted items that were not read.
    public var unread: Int
    /// Counted items with actions that await the user's choice.
    public var awaiting: Int
    /// Listed items.
    public var total: Int
    /// The position up to which the user has looked at the tray; 0 when never.
    public var seenUpTo: Seq
    /// When the user last looked at the tray: the store's time of the `traySeen` event that moved ``seenUpTo``; nil if never.
    public var seenAt: Timestamp?
    /// The position of the newest listed item, muted ones included.
    public var newest: Seq?
    /// The position of the newest counted item (listed and not muted), for a dot.
    public var newestCounted: Seq?
    /// The categories that have unseen or unread items, in the byte order of their names.
    ///
    /// An array, because names are compared byte by byte; a dictionary would merge canonically equivalent ones.
    public var categories: [CategoryCounts]

    /// Nothing is unseen.
    public var isSeen: Bool { unseen == 0 }

    /// The counts of one category, for a tab.
    public subscript(category name: String) -> CategoryCounts {
        categories.first { $0.category.hasSameBytes(as: name) }
            ?? CategoryCounts(category: name, unseen: 0, unread: 0)
    }

    /// A tray as a query answers it, for tests and previews.
    public init(
        user: String, asOf: Seq, revision: UInt64 = 0, unseen: Int = 0, unread: Int = 0, awaiting: Int = 0,
        total: Int = 0,
        seenUpTo: Seq = .zero, seenAt: Timestamp? = nil, newest: Seq? = nil, newestCounted: Seq? = nil,
        categories: [CategoryCounts] = []
    ) {
        self.user = user
        self.asOf = asOf
        self.revision = revision
        self.unseen = unseen
        self.unread = unread
        self.awaiting = awaiting
        self.total = total
        self.seenUpTo = seenUpTo
        self.seenAt = seenAt
        self.newest = newest
        self.newestCounted = newestCounted
        self.categories = categories
    }
}

extension TrayState {
    /// Visits the items below position `limit`, newest first, as long as `body` returns true.
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

    /// The tray of this state; the names of the categories come from the log.
    package func tray(of user: String, asOf: Seq, source: some StateSource) throws -> Tray {
        var tray = Tray(
            user: user, asOf: asOf, revision: events.count, unseen: Int(clamping: unseen),
            unread: Int(clamping: unread), awaiting: Int(clamping: awaiting), total: Int(clamping: total),
            seenUpTo: Seq(seenUpTo),
            seenAt: seenBy == 0 ? nil : try source.recordedAt(seenBy),
            newest: newest.listed == 0 ? nil : Seq(newest.listed),
            newestCounted: newest.counted == 0 ? nil : Seq(newest.counted))
        for count in categories {
            guard let name = try source.category(count) else { continue }
            tray.categories.append(
                Tray.CategoryCounts(
                    category: name, unseen: Int(clamping: count.unseen), unread: Int(clamping: count.unread)))
        }
        tray.categories.sort { $0.category.precedesInBytes($1.category) }
        return tray
    }
}
