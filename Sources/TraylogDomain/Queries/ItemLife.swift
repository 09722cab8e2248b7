/// One item of a tray, and what was done to it.
public struct ItemLife: Hashable, Sendable {
    /// Whose item it is.
    public var user: String
    /// The newest event that the answer rests on.
    public var asOf: Seq
    /// In whatever state: also archived, snoozed, deleted or gone.
    public var item: Item
    /// The events that changed the item, oldest first: the one that brought it, the user's marks, the publisher's
    /// edits, what was undone, and what undid it.
    ///
    /// Each says who did it (``Event/actor``, else the user), from where, and when.
    ///
    /// Events that a compaction took are missing.
    public var events: [Event]

    /// An item's life as a query answers it, for tests and previews; `events` in the order of the log.
    public init(user: String, asOf: Seq, item: Item, events: [Event]) {
        self.user = user
        self.asOf = asOf
        self.item = item
        self.events = events
    }
}
