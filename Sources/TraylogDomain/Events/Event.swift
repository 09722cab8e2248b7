/// An immutable fact in the log.
public struct Event: Hashable, Sendable {
    public var seq: Seq
    /// Stamped by the store; never decreases along the log.
    public var recordedAt: Timestamp
    /// What the caller claimed.
    public var occurredAt: Timestamp?
    /// Whose tray; nil for a broadcast and what happens to it for everyone, and for `compacted`.
    public var user: String?
    public var key: String?
    public var actor: String?
    public var device: String?
    public var body: Body
    /// Fields of a newer writer that this version does not know, as encoded; kept on every round trip.
    package var unknownFields: [UInt8]
    /// Identifies the command that a keyed event answers; 0 without a key.
    package var commandFingerprint: UInt64

    package init(
        seq: Seq, recordedAt: Timestamp, occurredAt: Timestamp? = nil, user: String?, key: String? = nil,
        actor: String? = nil, device: String? = nil, body: Body, unknownFields: [UInt8] = [],
        commandFingerprint: UInt64 = 0
    ) {
        self.seq = seq
        self.recordedAt = recordedAt
        self.occurredAt = occurredAt
        self.user = user
        self.key = key
        self.actor = actor
        self.device = device
        self.body = body
        self.unknownFields = unknownFields
        self.commandFingerprint = commandFingerprint
    }
}

extension Event {
    /// What happened. Items and events are named by seq; the values are those that were stored.
    public enum Body: Hashable, Sendable {
        case notified(Content)
        case traySeen(upTo: Seq)
        /// Only the items that changed.
        case marked(Mark, items: [Seq])
        /// `upTo` is always present.
        case allMarked(BulkMark, Selection)
        case muted(MuteScope)
        case unmuted(MuteScope)
        case snoozed(item: Seq, until: Timestamp)
        case woken(item: Seq)
        case edited(item: Seq, ContentEdit)
        case retracted(item: Seq)
        case subscribed(topic: String)
        case unsubscribed(topic: String)
        case broadcast(topic: String, Content)
        case undone(event: Seq)
        case expired(item: Seq)
        case erased
        /// All that is left of an event after its user was erased: that there was one of this kind.
        case redacted(EventKind)
        case compacted(through: Seq, dropped: UInt64, archive: String?)
    }
}
