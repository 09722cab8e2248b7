/// An immutable fact in the log.
public struct Event: Hashable, Sendable {
    /// Its number: 1, 2, 3 … along the log.
    public var seq: Seq
    /// The time of recording, by the store's clock; it never decreases along the log.
    public var recordedAt: Timestamp
    /// The time that the caller claimed.
    public var occurredAt: Timestamp?
    /// Its ordinal in its stream, 1, 2, 3 … without gaps: the stream of the user it names, else of its topic.
    ///
    /// 0 for an event without user and topic, such as `compacted`, and for one that is in no store.
    public var revision: UInt64
    /// The owner of the tray; nil for a broadcast, for its edits, arrival, reminder, retraction and expiry, and for `compacted`.
    public var user: String?
    /// The idempotency key of its command.
    public var key: String?
    /// The person or program that acted; nil for the user.
    public var actor: String?
    /// The device that the actor used.
    public var device: String?
    /// What happened.
    public var body: Body
    /// Data that is stored with the event and not shown.
    private var stored = Stored()

    /// Events are compared without it.
    struct Stored: Hashable, Sendable {
        var unknownFields: [UInt8] = []
        var commandFingerprint: UInt64 = 0
        var edits: UInt64 = 0

        static func == (left: Stored, right: Stored) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    /// The encoded fields that this version does not know; they are kept on every round trip.
    package var unknownFields: [UInt8] {
        get { stored.unknownFields }
        _modify { yield &stored.unknownFields }
    }

    /// Identifies the command that caused a keyed event; 0 without a key.
    package var commandFingerprint: UInt64 {
        get { stored.commandFingerprint }
        set { stored.commandFingerprint = newValue }
    }

    /// For an item with actions: the ordinal of an `edited` among the item's edits, how many of them an `acted` answers, or how
    /// many came before it `arrived`; else 0.
    ///
    /// It keeps anybody from leaving out an edit of what was answered.
    package var edits: UInt64 {
        get { stored.edits }
        set { stored.edits = newValue }
    }

    /// The store makes events from commands; this is for tests of code that takes events, such as a ``Projection``.
    public init(
        seq: Seq, recordedAt: Timestamp, occurredAt: Timestamp? = nil, revision: UInt64 = 0, user: String?,
        key: String? = nil, actor: String? = nil, device: String? = nil, body: Body
    ) {
        self.seq = seq
        self.recordedAt = recordedAt
        self.occurredAt = occurredAt
        self.revision = revision
        self.user = user
        self.key = key
        self.actor = actor
        self.device = device
        self.body = body
    }

    package init(
        seq: Seq, recordedAt: Timestamp, occurredAt: Timestamp? = nil, revision: UInt64 = 0, user: String?,
        key: String? = nil, actor: String? = nil, device: String? = nil, body: Body, unknownFields: [UInt8] = [],
        commandFingerprint: UInt64, edits: UInt64 = 0
    ) {
        self.init(
            seq: seq, recordedAt: recordedAt, occurredAt: occurredAt, revision: revision, user: user, key: key,
            actor: actor, device: device, body: body)
        stored = Stored(unknownFields: unknownFields, commandFingerprint: commandFingerprint, edits: edits)
    }
}

extension Event {
    /// The fact that the event states; items and events are named by seq.
    ///
    /// Later versions may have more cases: a `switch` needs an `@unknown default`. The values of a case stay as they are in 0.1.0;
    /// what is added to a fact comes as a property of ``Event``, or as a case of its own.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Body: Hashable, Sendable {
        /// An item arrived, or is scheduled where the content has a ``Content/notBefore``.
        case notified(Content)
        /// Every item at or below the position became seen.
        case traySeen(upTo: Seq)
        /// `items` has only the items that changed.
        case marked(Mark, items: [Seq])
        /// Every matching item up to a position was marked.
        case allMarked(BulkMark, ItemFilter, upTo: Seq)
        /// Later items do not count, with a time only until a tick at or after it.
        case muted(MuteScope, until: Timestamp? = nil)
        /// Later items count.
        case unmuted(MuteScope)
        /// An item was hidden until a time.
        case snoozed(item: Seq, until: Timestamp)
        /// A snooze ended: the item moved to the top.
        case woken(item: Seq)
        /// The publisher changed an item.
        case edited(item: Seq, ContentEdit)
        /// The publisher took an item back.
        case retracted(item: Seq)
        /// The user joined a topic. The revision is its newest event's at that time; 0 for a topic without events.
        case subscribed(topic: String, topicRevision: UInt64 = 0)
        /// The user left a topic, whose newest event had this revision at that time.
        case unsubscribed(topic: String, topicRevision: UInt64 = 0)
        /// An item arrived for everybody in a topic, or is scheduled where the content has a ``Content/notBefore``.
        case broadcast(topic: String, Content)
        /// An earlier event was voided.
        case undone(event: Seq)
        /// An item's time was over.
        case expired(item: Seq)
        /// The user was erased; the user had received broadcasts to these topics.
        case erased(spans: [SubscriptionSpan])
        /// A hold began: nothing of the user leaves the log, and nobody can erase the user.
        case held
        /// The hold ended.
        case released
        /// Somebody read the user's whole history; the last event of a complete history.
        ///
        /// `topicRevisions` has, for each topic that can still reach the user's items, the revision of its newest event at that time.
        case audited(purpose: String?, topicRevisions: [TopicRevision])
        /// The event's user was erased; only the kind and the time are left.
        case redacted(EventKind)
        /// Events left the log.
        case compacted(through: Seq, dropped: UInt64, archive: String?)
        /// The user chose one of an item's actions; `asOf` is the state that was on the screen, or the event before this one.
        case acted(item: Seq, action: String, note: String? = nil, asOf: Seq)
        /// An item's `remindAt` came, and it was not read; for a broadcast one event without a user, whatever the audience.
        case reminded(item: Seq)
        /// A scheduled item arrived, with the content that it had then: its `notBefore` had come.
        ///
        /// For a broadcast it is one event without a user, for everybody who is subscribed then. It has all that the item shows, so
        /// that nobody needs the event before it: `key`, `notifiedAt`, and the event's ``Event/actor`` and ``Event/occurredAt``
        /// are the notification's.
        indirect case arrived(item: Seq, topic: String?, key: String?, notifiedAt: Timestamp, Content)
        /// Stands for an event that an export did not have, in a store that was restored from the rest.
        case lost
    }
}

/// The kind of an event.
///
/// The raw values are the names in JSON and on the command line, such as `notified`.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum EventKind: String, Hashable, Sendable, CaseIterable {
    /// An event of ``Event/Body`` with the same name.
    case notified, traySeen, marked, allMarked, muted, unmuted, snoozed, woken, edited, retracted, subscribed
    /// An event of ``Event/Body`` with the same name.
    case unsubscribed, broadcast, undone, expired, erased, compacted, held, released, lost, acted, reminded, audited,
        arrived
}

extension EventKind {
    /// The number that stands for it in files; never used for another kind.
    @inlinable
    package var code: UInt8 {
        switch self {
        case .notified: 1
        case .traySeen: 2
        case .marked: 3
        case .allMarked: 4
        case .muted: 5
        case .unmuted: 6
        case .snoozed: 7
        case .woken: 8
        case .edited: 9
        case .retracted: 10
        case .subscribed: 11
        case .unsubscribed: 12
        case .broadcast: 13
        case .undone: 14
        case .expired: 15
        case .erased: 16
        case .compacted: 17
        case .held: 18
        case .released: 19
        case .lost: 20
        case .acted: 21
        case .reminded: 22
        case .audited: 23
        case .arrived: 24
        }
    }

    /// The kind of a number in a file; nil for a number that none has.
    package init?(code: UInt8) {
        switch code {
        case 1: self = .notified
        case 2: self = .traySeen
        case 3: self = .marked
        case 4: self = .allMarked
        case 5: self = .muted
        case 6: self = .unmuted
        case 7: self = .snoozed
        case 8: self = .woken
        case 9: self = .edited
        case 10: self = .retracted
        case 11: self = .subscribed
        case 12: self = .unsubscribed
        case 13: self = .broadcast
        case 14: self = .undone
        case 15: self = .expired
        case 16: self = .erased
        case 17: self = .compacted
        case 18: self = .held
        case 19: self = .released
        case 20: self = .lost
        case 21: self = .acted
        case 22: self = .reminded
        case 23: self = .audited
        case 24: self = .arrived
        default: return nil
        }
    }

    /// Whether an `undo` can void it.
    public var isUndoable: Bool {
        switch self {
        case .traySeen, .marked, .allMarked: true
        default: false
        }
    }
}

extension Event {
    /// The kind.
    public var kind: EventKind { body.kind }
}

extension Event.Body {
    /// The kind.
    package var kind: EventKind {
        switch self {
        case .notified: .notified
        case .traySeen: .traySeen
        case .marked: .marked
        case .allMarked: .allMarked
        case .muted: .muted
        case .unmuted: .unmuted
        case .snoozed: .snoozed
        case .woken: .woken
        case .edited: .edited
        case .retracted: .retracted
        case .subscribed: .subscribed
        case .unsubscribed: .unsubscribed
        case .broadcast: .broadcast
        case .undone: .undone
        case .expired: .expired
        case .erased: .erased
        case .held: .held
        case .released: .released
        case .redacted(let kind): kind
        case .compacted: .compacted
        case .lost: .lost
        case .acted: .acted
        case .reminded: .reminded
        case .audited: .audited
        case .arrived: .arrived
        }
    }
}

extension Event.Body {
    /// The greatest seq that this event names; 0 when it names none.
    package var greatestNamed: Seq {
        switch self {
        case .notified, .broadcast, .muted, .unmuted, .subscribed, .unsubscribed, .erased, .held, .released, .redacted,
            .lost, .audited:
            0
        case .traySeen(let upTo): upTo
        case .marked(_, let items): items.max() ?? 0
        case .allMarked(_, _, let upTo): upTo
        case .snoozed(let item, _), .woken(let item), .edited(let item, _), .retracted(let item), .expired(let item),
            .reminded(let item), .arrived(let item, _, _, _, _):
            item
        case .acted(let item, _, _, let asOf): max(item, asOf)
        case .undone(let event): event
        case .compacted(let through, _, _): through
        }
    }
}
