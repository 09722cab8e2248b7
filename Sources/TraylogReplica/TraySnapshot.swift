@_spi(Replication) import TraylogDomain
import TraylogJSON

/// One page of a user's tray as it was right after an event: all that a copy elsewhere needs to go on by itself.
///
/// The pages of one snapshot are all as of the same event. ``TrayReplica`` is made from them.
@_spi(Replication) public struct TraySnapshot: Hashable, Sendable, Codable {
    /// The user of the tray.
    public var user: String
    /// The event that the snapshot was made after.
    public var asOf: Seq
    /// The store's history: kept beside ``asOf``, it tells later whether the store was restored meanwhile.
    public var history: StoreHistory
    /// The number of the user's stream; 0 for somebody without events.
    ///
    /// An erased user's name that is used again has another one.
    public var stream: UInt32
    /// The floor of the store: changes after an earlier event cannot be asked for.
    public var floor: Seq
    /// The tray at that moment.
    public var tray: Tray
    /// What is muted, as ``Mutes/mutes``.
    public var mutes: [Mute]
    /// The topics that the user is subscribed to or has items from, in byte order.
    public var topics: [TopicSpan]
    /// Events of the user that were undone, ascending.
    public var voided: [Seq]
    /// This page's items that are not gone, ascending by position.
    public var items: [Part]
    /// The next page; nil on the last one.
    public var next: SnapshotCursor?

    /// An item, and how much of it is known.
    public struct Part: Hashable, Sendable, Codable {
        /// The item.
        public var item: Item
        /// Whether title, body, level, data, actor and `occurredAt` are there.
        ///
        /// Where they are not, they are nil or the default.
        public var hasContent: Bool

        /// An item of the snapshot, with or without its content.
        public init(item: Item, hasContent: Bool) {
            self.item = item
            self.hasContent = hasContent
        }
    }

    /// The latest subscription of a user to a topic.
    public struct TopicSpan: Hashable, Sendable, Codable {
        /// The topic.
        public var topic: String
        /// The `subscribed` event.
        public var from: Seq
        /// The `unsubscribed` event; nil while the subscription lasts.
        public var until: Seq?

        /// A span of a subscription; `until` is nil while it lasts.
        public init(topic: String, from: Seq, until: Seq?) {
            self.topic = topic
            self.from = from
            self.until = until
        }
    }

    /// A page of a snapshot, as `snapshot(of:)` answers it.
    public init(
        user: String, asOf: Seq, history: StoreHistory = StoreHistory(), stream: UInt32, floor: Seq, tray: Tray,
        mutes: [Mute] = [], topics: [TopicSpan] = [], voided: [Seq] = [], items: [Part] = [],
        next: SnapshotCursor? = nil
    ) {
        self.user = user
        self.asOf = asOf
        self.history = history
        self.stream = stream
        self.floor = floor
        self.tray = tray
        self.mutes = mutes
        self.topics = topics
        self.voided = voided
        self.items = items
        self.next = next
    }
}

extension TraySnapshot {
    /// The muted threads, in byte order.
    public var mutedThreads: [String] {
        mutes.compactMap { if case .thread(let name) = $0.scope { name } else { nil } }
    }

    /// The muted categories, in byte order.
    public var mutedCategories: [String] {
        mutes.compactMap { if case .category(let name) = $0.scope { name } else { nil } }
    }
}

/// A place between two pages of a snapshot, opaque to callers.
///
/// It carries the event that the snapshot is as of, so that nobody has to remember it in between.
@_spi(Replication) public struct SnapshotCursor: Hashable, Sendable, Codable {
    package var asOf: Seq
    package var stream: UInt32
    /// The next page holds positions above this one.
    package var after: Seq
    /// The store's history at ``asOf``.
    package var history: UInt64

    package init(asOf: Seq, stream: UInt32, after: Seq, history: UInt64 = 0) {
        self.asOf = asOf
        self.stream = stream
        self.after = after
        self.history = history
    }

    /// Reads the text of a cursor; nil when no page can have given it out.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "s1" else { return nil }
        let numbers = parts[1...].compactMap { UInt64(canonical: $0) }
        guard numbers.count == 4, numbers[0] <= Seq.highest, numbers[1] <= UInt32.max, numbers[2] <= numbers[0] else {
            return nil
        }
        self.init(asOf: Seq(numbers[0]), stream: UInt32(numbers[1]), after: Seq(numbers[2]), history: numbers[3])
    }
}

@_spi(Replication) extension SnapshotCursor: CustomStringConvertible {
    /// The text to give to a client and to take back.
    ///
    /// It has only letters, digits and `-`.
    public var description: String {
        let numbers = [asOf.rawValue, UInt64(stream), after.rawValue, history]
        return "s1-" + numbers.map { String($0, radix: 36) }.joined(separator: "-")
    }
}

@_spi(Replication) extension SnapshotCursor {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cursor = SnapshotCursor(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "is no cursor of a snapshot")
        }
        self = cursor
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The item's members, and `hasContent`.
@_spi(Replication) extension TraySnapshot.Part {
    private enum CodingKeys: String, CodingKey { case hasContent }

    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let hasContent = try decoder.container(keyedBy: CodingKeys.self).decode(Bool.self, forKey: .hasContent)
        self.init(item: try Item(from: decoder), hasContent: hasContent)
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        try item.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(hasContent, forKey: .hasContent)
    }
}
