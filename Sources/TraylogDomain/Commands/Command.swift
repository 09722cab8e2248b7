/// What a caller asks of the store.
///
/// A command is refused (``Refusal``, nothing stored), unchanged (nothing stored), a duplicate of an earlier
/// one with the same key (nothing stored), or it appends exactly one event.
public struct Command: Hashable, Sendable {
    /// Whose tray; needed by every action but `broadcast`, and by `edit` and `retract` of a broadcast.
    public var user: String?
    public var action: Action
    /// Idempotency key, scoped to the user (a broadcast's: to the topic).
    public var key: String?
    /// When it happened, as the caller claims: kept and shown, it orders nothing.
    public var occurredAt: Timestamp?
    /// Who acted; the user when absent.
    public var actor: String?
    /// From where.
    public var device: String?

    public init(
        user: String?, _ action: Action, key: String? = nil, occurredAt: Timestamp? = nil,
        actor: String? = nil, device: String? = nil
    ) {
        self.user = user
        self.action = action
        self.key = key
        self.occurredAt = occurredAt
        self.actor = actor
        self.device = device
    }
}

extension Command {
    /// The kinds of command with their own fields; the rules are in spec.md, section 4.
    public enum Action: Hashable, Sendable {
        case notify(Content)
        /// Every item at or below the position (the head when nil) becomes seen.
        case seeTray(upTo: Seq? = nil)
        /// 1…1,000 items.
        case mark(Mark, [ItemReference])
        case markAll(BulkMark, Selection = Selection())
        case mute(MuteScope)
        case unmute(MuteScope)
        case snooze(ItemReference, until: Timestamp)
        case wake(ItemReference)
        /// With a user: an item notified to that user. Without: a broadcast, for everyone.
        case edit(ItemReference, ContentEdit)
        case retract(ItemReference)
        case subscribe(topic: String)
        case unsubscribe(topic: String)
        case broadcast(topic: String, Content)
        /// Voids one earlier `traySeen`, `marked` or `allMarked` of the same user.
        case undo(event: Seq)
        case erase
    }
}

/// An item as a command names it.
public enum ItemReference: Hashable, Sendable {
    case seq(Seq)
    /// The idempotency key of the `notify` that brought it, of the same user.
    case key(String)
}

/// What `mark` sets on single items.
public enum Mark: UInt8, Hashable, Sendable, CaseIterable {
    case seen = 0
    case read = 1
    case unread = 2
    case archived = 3
    case unarchived = 4
    case deleted = 5
    case restored = 6
}

/// What `markAll` sets.
public enum BulkMark: UInt8, Hashable, Sendable, CaseIterable {
    case seen = 0
    case read = 1
    case archived = 2
    case deleted = 3
}

/// Which items a `markAll` covers: those that match every part.
public struct Selection: Hashable, Sendable {
    /// All threads, the app-level group, or one thread.
    public enum Thread: Hashable, Sendable {
        case any
        case unthreaded
        case named(String)
    }

    public var thread: Thread
    public var category: String?
    /// Items at this position or below; the head when nil.
    public var upTo: Seq?

    public init(thread: Thread = .any, category: String? = nil, upTo: Seq? = nil) {
        self.thread = thread
        self.category = category
        self.upTo = upTo
    }
}

/// What a `mute` silences the counts of.
public enum MuteScope: Hashable, Sendable {
    case thread(String)
    case category(String)
}
