/// Which items of an inbox to show, and how many at a time.
public struct InboxQuery: Hashable, Sendable {
    public enum View: Hashable, Sendable {
        /// Live, not archived, not snoozed.
        case inbox
        /// Live and archived.
        case archived
        /// Live and snoozed.
        case snoozed
    }

    public var view: View
    /// Silent items, too.
    public var includeSilent: Bool
    public var onlyUnread: Bool
    /// Not seen, muted items included.
    public var onlyUnseen: Bool
    public var thread: Selection.Thread
    public var category: String?
    /// 1…``Limits/pageItems`` items.
    public var limit: Int
    /// Where the page before ended.
    public var cursor: Cursor?

    public init(
        view: View = .inbox, includeSilent: Bool = false, onlyUnread: Bool = false, onlyUnseen: Bool = false,
        thread: Selection.Thread = .any, category: String? = nil, limit: Int = Limits.defaultPageItems,
        cursor: Cursor? = nil
    ) {
        self.view = view
        self.includeSilent = includeSilent
        self.onlyUnread = onlyUnread
        self.onlyUnseen = onlyUnseen
        self.thread = thread
        self.category = category
        self.limit = limit
        self.cursor = cursor
    }
}

/// One page of an inbox, newest position first.
public struct InboxPage: Hashable, Sendable {
    public var user: String
    public var asOf: Seq
    public var items: [Item]
    /// Where the next page starts; nil when this is the last one.
    public var next: Cursor?

    public init(user: String, asOf: Seq, items: [Item], next: Cursor?) {
        self.user = user
        self.asOf = asOf
        self.items = items
        self.next = next
    }
}
