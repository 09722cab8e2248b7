/// One item of a tray, with the events that changed it.
public struct ItemLife: Hashable, Sendable {
    /// The item's user.
    public var user: String
    /// The newest event that the answer rests on.
    public var asOf: Seq
    /// The item, in any state, even archived, snoozed, deleted or gone.
    public var item: Item
    /// The events that changed the item, oldest first: the event that brought it, the user's marks, the publisher's
    /// edits, undone events, and the events that undid them.
    ///
    /// Each has its actor (``Event/actor``, else the user), device and time.
    ///
    /// Events that a compaction removed are missing.
    public var events: [Event]

    /// An item's life as a query answers it, for tests and previews; `events` in the order of the log.
    package init(user: String, asOf: Seq, item: Item, events: [Event]) {
        self.user = user
        self.asOf = asOf
        self.item = item
        self.events = events
    }
}
