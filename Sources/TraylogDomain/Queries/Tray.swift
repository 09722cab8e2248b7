/// One user's summary: what a bell icon shows. All counts are exact.
public struct Tray: Hashable, Sendable {
    /// Unseen and unread of one category.
    public struct CategoryCounts: Hashable, Sendable {
        public var category: String
        public var unseen: UInt64
        public var unread: UInt64

        public init(category: String, unseen: UInt64, unread: UInt64) {
            self.category = category
            self.unseen = unseen
            self.unread = unread
        }
    }

    public var user: String
    /// The seq that the answer is the state after.
    public var asOf: Seq
    /// Counted items that were not seen.
    public var unseen: UInt64
    /// Counted items that were not read.
    public var unread: UInt64
    /// Listed items.
    public var total: UInt64
    /// The position up to which the user has looked at the tray; 0 when never.
    public var seenUpTo: Seq
    /// The position of the newest listed item.
    public var newest: Seq?
    /// Every category that has any unseen or unread item, in the byte order of their names.
    ///
    /// Names are the same only when their bytes are; a dictionary would take canonically equivalent ones for one.
    public var categories: [CategoryCounts]

    /// Nothing is unseen.
    public var isSeen: Bool { unseen == 0 }

    /// What a tab of one category shows.
    public subscript(category name: String) -> CategoryCounts {
        categories.first { $0.category.hasSameBytes(as: name) }
            ?? CategoryCounts(category: name, unseen: 0, unread: 0)
    }

    public init(
        user: String, asOf: Seq, unseen: UInt64 = 0, unread: UInt64 = 0, total: UInt64 = 0,
        seenUpTo: Seq = .zero, newest: Seq? = nil, categories: [CategoryCounts] = []
    ) {
        self.user = user
        self.asOf = asOf
        self.unseen = unseen
        self.unread = unread
        self.total = total
        self.seenUpTo = seenUpTo
        self.newest = newest
        self.categories = categories
    }
}
