/// The listed items of one thread, as a group.
public struct ThreadGroup: Hashable, Sendable {
    /// nil is the app-level group: items without a thread.
    public var thread: String?
    /// Listed items.
    public var count: UInt64
    public var unseen: UInt64
    public var unread: UInt64
    public var newest: Item
    /// What stands for the others: "5 more notifications from Alice and Me"; nil when they count for nothing.
    public var summary: String?

    public init(
        thread: String?, count: UInt64, unseen: UInt64, unread: UInt64, newest: Item, summary: String?
    ) {
        self.thread = thread
        self.count = count
        self.unseen = unseen
        self.unread = unread
        self.newest = newest
        self.summary = summary
    }
}

/// One page of groups, the group with the newest item first.
public struct ThreadsPage: Hashable, Sendable {
    public var user: String
    public var asOf: Seq
    public var threads: [ThreadGroup]
    public var next: Cursor?

    public init(user: String, asOf: Seq, threads: [ThreadGroup], next: Cursor?) {
        self.user = user
        self.asOf = asOf
        self.threads = threads
        self.next = next
    }
}
