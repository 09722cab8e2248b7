/// How the recipients of a broadcast have it, at one moment.
///
/// ```swift
/// let audience = try await store.audience(of: notice)
/// print("\(audience.read) of \(audience.recipients) have read it")
/// ```
///
/// An item that is gone keeps the states that it had when it went.
public struct Audience: Hashable, Sendable {
    /// The recipients whom a list names.
    ///
    /// The raw values are the names on the command line.
    public enum Part: String, Hashable, Sendable, CaseIterable, Codable {
        /// Those who have seen it, or have not.
        case seen, unseen
        /// Those who have read it, or have not.
        case read, unread
    }

    /// The broadcast.
    public var item: Seq
    /// The newest event that the answer rests on.
    public var asOf: Seq
    /// Users who got it: all who were subscribed to its topic when it came, and were not erased since.
    public var recipients: Int
    /// Recipients who have seen it.
    public var seen: Int
    /// Recipients who have read it.
    public var read: Int
    /// Recipients who have put it away.
    public var archived: Int
    /// Recipients who have deleted it.
    public var deleted: Int
    /// People who got it and were erased since, whatever the moment; no other number has them.
    public var erased: Int

    /// The audience as a query answers it, for tests and previews.
    public init(
        item: Seq, asOf: Seq, recipients: Int = 0, seen: Int = 0, read: Int = 0, archived: Int = 0, deleted: Int = 0,
        erased: Int = 0
    ) {
        self.item = item
        self.asOf = asOf
        self.recipients = recipients
        self.seen = seen
        self.read = read
        self.archived = archived
        self.deleted = deleted
        self.erased = erased
    }
}

/// One user who got a broadcast, and since when it is seen and read.
public struct Recipient: Hashable, Sendable {
    /// An event that changed the item, and when it was recorded.
    public struct Occasion: Hashable, Sendable {
        /// The event.
        public var seq: Seq
        /// When it was recorded.
        public var at: Timestamp

        /// An event and its time.
        public init(seq: Seq, at: Timestamp) {
            self.seq = seq
            self.at = at
        }
    }

    /// Whose item it is.
    public var user: String
    /// What made the item seen last; nil while it is not seen, and where that lies below the floor.
    public var seen: Occasion?
    /// What made the item read last; nil while it is not read, and where that lies below the floor.
    public var read: Occasion?

    /// A recipient as a query answers it, for tests and previews.
    public init(user: String, seen: Occasion? = nil, read: Occasion? = nil) {
        self.user = user
        self.seen = seen
        self.read = read
    }
}

/// Some recipients of a broadcast, in the byte order of their names.
public struct RecipientPage: Hashable, Sendable {
    /// How many a page has where nothing else is asked for.
    public static let defaultLimit = 1_000

    /// In byte order of the names.
    public var recipients: [Recipient]
    /// The name after which the query goes on; nil at its end.
    public var next: String?

    /// A page as a query answers it, for tests and previews; `next` is nil at the end.
    public init(recipients: [Recipient], next: String?) {
        self.recipients = recipients
        self.next = next
    }
}
