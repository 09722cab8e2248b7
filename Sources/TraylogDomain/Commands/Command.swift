/// A request to change a tray, or a topic.
///
/// A command is refused (``Refusal``, nothing stored), unchanged (nothing stored), a duplicate of an earlier
/// one with the same key (nothing stored), or it appends exactly one event.
public struct Command: Hashable, Sendable {
    /// The owner of the tray.
    ///
    /// Required, except by `broadcast` and by `edit` and `retract` of a broadcast.
    public var user: String?
    /// The kind of command, with its fields.
    public var action: Action
    /// The idempotency key, scoped to the user, or for a broadcast to the topic.
    public var key: String?
    /// The time that the caller claims; it does not affect the order of events.
    public var occurredAt: Timestamp?
    /// The person or program that acted; when absent, the user.
    public var actor: String?
    /// The device that the actor used.
    public var device: String?
    /// The revision that the newest event of its user (or topic, without a user) must have, 0 for no event; nil for any.
    ///
    /// Otherwise it is refused, ``Refusal/wrongRevision(expected:revision:)``. Keys ignore this field.
    public var expectedRevision: UInt64?

    /// A command from an action.
    ///
    /// If the action is known, functions such as ``notify(_:title:body:thread:category:level:data:key:)`` read better.
    public init(
        user: String?, _ action: Action, key: String? = nil, occurredAt: Timestamp? = nil,
        actor: String? = nil, device: String? = nil, expectedRevision: UInt64? = nil
    ) {
        self.user = user
        self.action = action
        self.key = key
        self.occurredAt = occurredAt
        self.actor = actor
        self.device = device
        self.expectedRevision = expectedRevision
    }
}

extension Command {
    /// The kinds of command, each with its own fields.
    ///
    /// `Docs/concepts.md` has the rules.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Action: Hashable, Sendable {
        /// Adds an item: unseen, unread.
        case notify(Content)
        /// Every item at or below the position (the head when nil) becomes seen.
        case seeTray(upTo: Seq? = nil)
        /// 1…1,000 items.
        case mark(Mark, [ItemReference])
        /// Marks all items that match, up to a position (the head when nil); always stored.
        case markAll(BulkMark, ItemFilter = ItemFilter(), upTo: Seq? = nil)
        /// Items that arrive from now on are listed, and never count, until an `unmute` or a tick at or after the time.
        case mute(MuteScope, until: Timestamp? = nil)
        /// Items that arrive from now on count again; those that arrived muted stay muted.
        case unmute(MuteScope)
        /// Hides a live item until a tick wakes it, or a `wake`.
        case snooze(ItemReference, until: Timestamp)
        /// Ends a snooze: the item moves to the top, unseen and unread.
        case wake(ItemReference)
        /// With a user: edits an item notified to that user. Without: edits a broadcast, for everyone.
        case edit(ItemReference, ContentEdit)
        /// The publisher takes an item back, with or without a user as for `edit`.
        case retract(ItemReference)
        /// Broadcasts of the topic become visible to the user.
        case subscribe(topic: String)
        /// Later broadcasts are not visible; received ones stay.
        case unsubscribe(topic: String)
        /// Adds an item to the tray of everybody who is subscribed; without a user.
        case broadcast(topic: String, Content)
        /// Voids one earlier `traySeen`, `marked` or `allMarked` of the same user.
        case undo(event: Seq)
        /// Records, once, which of the item's actions the user chose, and marks the item as read.
        ///
        /// `asOf` is the state that was on the screen: an item that was edited since is not answered. Nil compares nothing.
        case act(ItemReference, action: String, note: String? = nil, asOf: Seq? = nil)
    }
}

/// Identifies an item in a command.
public enum ItemReference: Hashable, Sendable {
    /// The seq of the event that brought it.
    case seq(Seq)
    /// The idempotency key of the `notify` that brought it. Keys belong to one user.
    case key(String)
}

/// The items that a `mute` leaves out of the counts.
///
/// Each thread, each category, each topic and `all` is a separate mute.
public enum MuteScope: Hashable, Sendable {
    /// Items of one thread.
    case thread(String)
    /// Items of one category.
    case category(String)
    /// Broadcasts of one topic; the user stays subscribed.
    case topic(String)
    /// All items, except those that arrive with the level `critical`.
    case all
}

/// The outcome of a command that was not refused.
public enum Receipt: Hashable, Sendable {
    /// Stored durably as the event with this seq.
    case appended(Seq)
    /// Nothing would change, so nothing was stored.
    case unchanged
    /// An equal command with the same key is stored already, as the event with this seq.
    case duplicate(Seq)

    /// The seq of the event that holds the command's effect; nil when unchanged.
    public var seq: Seq? {
        switch self {
        case .appended(let seq), .duplicate(let seq): seq
        case .unchanged: nil
        }
    }
}
