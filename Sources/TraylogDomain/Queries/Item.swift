/// An item as a query shows it: what the publisher says of it now, and what the user did with it.
public struct Item: Hashable, Sendable, Identifiable {
    /// Its id: the seq of the event that brought it.
    public var seq: Seq
    /// Where it stands in the inbox: its seq, or that of its latest `woken`.
    public var position: Seq
    public var key: String?
    /// The topic of a broadcast.
    public var topic: String?
    /// As notified, with every edit applied.
    public var content: Content
    public var muted: Bool
    public var seen: Bool
    public var read: Bool
    public var archived: Bool
    public var snoozedUntil: Timestamp?
    public var actor: String?
    public var occurredAt: Timestamp?
    public var recordedAt: Timestamp

    public var id: Seq { seq }

    public init(
        seq: Seq, position: Seq, key: String? = nil, topic: String? = nil, content: Content, muted: Bool = false,
        seen: Bool = false, read: Bool = false, archived: Bool = false, snoozedUntil: Timestamp? = nil,
        actor: String? = nil, occurredAt: Timestamp? = nil, recordedAt: Timestamp
    ) {
        self.seq = seq
        self.position = position
        self.key = key
        self.topic = topic
        self.content = content
        self.muted = muted
        self.seen = seen
        self.read = read
        self.archived = archived
        self.snoozedUntil = snoozedUntil
        self.actor = actor
        self.occurredAt = occurredAt
        self.recordedAt = recordedAt
    }
}
