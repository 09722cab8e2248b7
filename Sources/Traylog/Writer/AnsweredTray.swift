import TraylogDomain

/// A user's tray as it was answered last, without the head; two lines of memory, those of one or two categories
/// included.
///
/// Names of up to fifteen bytes lie in their strings.
struct AnsweredTray: ~Copyable {
    /// The identity of the user's name; 0 where there is no tray.
    let identity: UInt64
    let user: String
    /// Events of topics before this one change nothing in the tray, but later ones may; 0 when it is out of date.
    private var topicsBefore: UInt64
    private let unseen: UInt64
    private let unread: UInt64
    private let total: UInt64
    private let seenUpTo: Seq
    /// 0 for none.
    private let newest: Seq
    private let first: SmallCounts
    private let second: SmallCounts
    /// All categories, where they are not small.
    private let categories: [Tray.CategoryCounts]

    /// None.
    init() {
        self.init(Tray(user: "", asOf: .zero), identity: 0, topicsThrough: nil)
        forget()
    }

    /// - Parameter topicsThrough: up to where topics were looked at; nil for a user without any.
    init(_ tray: Tray, identity: UInt64, topicsThrough: UInt64?) {
        self.identity = identity
        user = tray.user
        topicsBefore = topicsThrough.map { $0 + 1 } ?? .max
        unseen = tray.unseen
        unread = tray.unread
        total = tray.total
        seenUpTo = tray.seenUpTo
        newest = tray.newest ?? .zero
        let small = tray.categories.count <= 2 ? tray.categories.compactMap { SmallCounts($0) } : []
        let isSmall = small.count == tray.categories.count
        first = isSmall ? small.first ?? SmallCounts() : SmallCounts()
        second = isSmall && small.count == 2 ? small[1] : SmallCounts()
        categories = isSmall ? [] : tray.categories
    }

    /// Whether it may still be answered.
    var isKnown: Bool { topicsBefore != 0 }

    mutating func forget() { topicsBefore = 0 }

    func isTray(of user: String) -> Bool { self.user.hasSameBytes(as: user) }

    /// The tray, if it is still so after the head.
    ///
    /// - Parameter user: the same bytes as ``user``, in a string that is at hand.
    func tray(of user: String, asOf head: UInt64, lastTopicEvent: UInt64) -> Tray? {
        guard lastTopicEvent < topicsBefore else { return nil }
        return Tray(
            user: user, asOf: Seq(head), unseen: unseen, unread: unread, total: total, seenUpTo: seenUpTo,
            newest: newest == .zero ? nil : newest, categories: allCategories)
    }

    private var allCategories: [Tray.CategoryCounts] {
        if first.isNone { return categories }
        return second.isNone ? [first.counts] : [first.counts, second.counts]
    }
}

/// The counts of one category in three words.
private struct SmallCounts {
    private let category: String
    private let unseen: UInt32
    private let unread: UInt32

    /// None.
    init() {
        category = ""
        unseen = 0
        unread = 0
    }

    /// Nil for counts that are too large, or none.
    init?(_ counts: Tray.CategoryCounts) {
        guard let unseen = UInt32(exactly: counts.unseen), let unread = UInt32(exactly: counts.unread) else {
            return nil
        }
        category = counts.category
        self.unseen = unseen
        self.unread = unread
        if isNone { return nil }
    }

    var isNone: Bool { unseen == 0 && unread == 0 }

    var counts: Tray.CategoryCounts {
        Tray.CategoryCounts(category: category, unseen: UInt64(unseen), unread: UInt64(unread))
    }
}
