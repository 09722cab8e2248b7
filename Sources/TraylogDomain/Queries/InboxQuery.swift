/// Selects items of an inbox, a page at a time.
public struct InboxQuery: Hashable, Sendable {
    /// The part of a tray that a query looks at.
    public enum View: String, Hashable, Sendable, Codable {
        /// Live, not archived, not snoozed.
        case inbox
        /// Live and archived.
        case archived
        /// Live and snoozed.
        case snoozed
    }

    /// The filter on them.
    public var filter: ItemFilter
    /// The part of the tray.
    public var view: View
    /// Items in a page: 1…``Limits/pageItems``.
    public var limit: Int
    /// ``Page/next`` of the page before; nil for the first page.
    public var cursor: Cursor?

    /// A query, by default for the newest 20 items of the inbox.
    public init(
        _ filter: ItemFilter = ItemFilter(), view: View = .inbox, limit: Int = 20,
        cursor: Cursor? = nil
    ) {
        self.filter = filter
        self.view = view
        self.limit = limit
        self.cursor = cursor
    }
}

extension InboxQuery {
    /// Refuses impossible values by name.
    package func validate() throws(Refusal) {
        try Limits.check(pageLimit: limit)
        try Limits.check(identifier: filter.actor, "actor")
        if case .named(let thread) = filter.thread { try Limits.check(identifier: thread, "thread") }
        for category in filter.categories { try Limits.check(identifier: category, "category") }
        try Limits.check(time: filter.since, "since")
        try Limits.check(time: filter.until, "until")
        try Limits.check(text: filter.text, atMost: Limits.titleBytes, "text")
    }
}

/// An item as a query shows it: its present content and the user's marks.
public struct Item: Hashable, Sendable, Identifiable {
    /// Its id: the seq of the event that brought it.
    public var seq: Seq
    /// The place in the inbox: the item's seq or, of one that was scheduled, of its `arrived`; after a snooze, of the latest `woken`.
    public var position: Seq
    /// The key of the `notify` that brought it.
    public var key: String?
    /// The topic of a broadcast.
    public var topic: String?
    /// As notified, with every edit applied.
    public var content: Content
    /// Arrived while its thread or category was muted: listed, never counted.
    public var isMuted: Bool
    /// Whether the user has looked at it.
    public var isSeen: Bool
    /// Whether the user has opened it.
    public var isRead: Bool
    /// Whether it was archived.
    public var isArchived: Bool
    /// Marked `deleted`: in no page, until it is restored.
    public var isDeleted: Bool
    /// Superseded, retracted or expired: in no page from now on.
    public var isGone: Bool
    /// The time at which it wakes, while it is snoozed.
    public var snoozedUntil: Timestamp?
    /// The action that the user chose.
    public var outcome: Outcome?
    /// The sender, if it is not the user.
    public var actor: String?
    /// The time that the sender claims.
    public var occurredAt: Timestamp?
    /// The time at which the store recorded it.
    public var recordedAt: Timestamp
    /// The time at which it arrived, if it was scheduled.
    public var arrivedAt: Timestamp?

    /// ``seq``.
    public var id: Seq { seq }
    /// Whether it is snoozed.
    public var isSnoozed: Bool { snoozedUntil != nil }
    /// Whether the tray's counts have it: it is in the inbox (neither archived nor snoozed, deleted or gone), not silent and not muted.
    ///
    /// ``Tray/unseen`` counts those that are not ``isSeen``, and ``Tray/awaiting`` those whose ``Content/actions`` await an ``outcome``.
    public var isCounted: Bool {
        !(isDeleted || isGone || isArchived || isSnoozed || content.isSilent || isMuted)
    }
    /// Whether ``Tray/unread`` counts it: ``isCounted``, and not read.
    ///
    /// A muted item is never unread in this sense, whatever ``isRead`` says; ``ItemFilter/onlyUnread`` goes by that alone.
    public var isUnread: Bool { isCounted && !isRead }

    /// An item as a query answers it, for tests and previews.
    public init(
        seq: Seq, position: Seq, key: String? = nil, topic: String? = nil, content: Content, isMuted: Bool = false,
        isSeen: Bool = false, isRead: Bool = false, isArchived: Bool = false, isDeleted: Bool = false,
        isGone: Bool = false,
        snoozedUntil: Timestamp? = nil, outcome: Outcome? = nil, actor: String? = nil, occurredAt: Timestamp? = nil,
        recordedAt: Timestamp, arrivedAt: Timestamp? = nil
    ) {
        self.seq = seq
        self.position = position
        self.key = key
        self.topic = topic
        self.content = content
        self.isMuted = isMuted
        self.isSeen = isSeen
        self.isRead = isRead
        self.isArchived = isArchived
        self.isDeleted = isDeleted
        self.isGone = isGone
        self.snoozedUntil = snoozedUntil
        self.outcome = outcome
        self.actor = actor
        self.occurredAt = occurredAt
        self.recordedAt = recordedAt
        self.arrivedAt = arrivedAt
    }
}

/// A user's final answer to an item.
public struct Outcome: Hashable, Sendable {
    /// The id of the action.
    public var action: String
    /// The note.
    public var note: String?
    /// The person who decided: the user, unless the `act` named somebody else.
    public var actor: String
    /// The `acted` event.
    public var seq: Seq
    /// The time at which the store recorded it.
    public var at: Timestamp
    /// The state that was on the screen: the item had no other text between this event and the answer.
    ///
    /// The event before ``seq`` where the `act` named none.
    public var asOf: Seq

    /// An outcome as a query answers it, for tests and previews.
    public init(action: String, note: String? = nil, actor: String, seq: Seq, at: Timestamp, asOf: Seq) {
        self.action = action
        self.note = note
        self.actor = actor
        self.seq = seq
        self.at = at
        self.asOf = asOf
    }
}

/// A place between two pages, opaque to callers.
///
/// It stays valid when items are deleted or added, and works in every process. A store that was restored from a backup
/// refuses a cursor whose item it does not have.
public struct Cursor: Hashable, Sendable {
    /// The next page holds positions below this one.
    package var before: Seq
    /// The history of the item at that position (``StoreHistory``); nil for one that fits every history.
    package var history: UInt64?

    package init(before: Seq, history: UInt64? = nil) { (self.before, self.history) = (before, history) }

    /// Reads the text of a cursor, ``description``; nil for any other text.
    ///
    /// ```swift
    /// print(Cursor("c1-5") != nil)
    /// ```
    public init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 3, omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts[0] == "c1", let position = UInt64(canonical: parts[1]), position > 0
        else { return nil }
        before = Seq(position)
        guard parts.count == 3 else { return }
        guard let id = UInt64(canonical: parts[2]) else { return nil }
        history = id
    }

    /// Reads the text of a cursor, ``description``, from a request, and refuses any other text by name.
    ///
    /// ```swift
    /// let page = try await store.inbox(of: "ann", InboxQuery(cursor: Cursor(parsing: text)))
    /// ```
    ///
    /// - Parameters:
    ///   - text: where it is none that a page's ``Page/next`` has, it is refused.
    ///   - field: the name that the refusal has.
    /// - Throws: ``TraylogError``: refused `invalid`.
    public init(parsing text: String, field: String = "cursor") throws(TraylogError) {
        guard let cursor = Cursor(text) else {
            throw .refused(.invalid(field: field, reason: "was not given out by a page"))
        }
        self = cursor
    }
}

extension Cursor: LosslessStringConvertible {
    /// The text for clients, which they send back; it has only letters, digits and `-`.
    public var description: String {
        "c1-" + String(before.rawValue, radix: 36) + (history.map { "-" + String($0, radix: 36) } ?? "")
    }
}

extension UInt64 {
    /// Reads digits to base 36, as `String(_:radix:)` writes them; nil for any other text.
    package init?(canonical digits: some StringProtocol) {
        guard digits.utf8.count <= 13, digits.utf8.allSatisfy({ $0 < 0x80 }), let value = UInt64(digits, radix: 36),
            String(value, radix: 36) == digits
        else { return nil }
        self = value
    }
}
