import TraylogDomain
import TraylogJSON
import TraylogQueries

/// A custom fold over the log.
///
/// The store keeps its value up to date, and stores it.
///
/// The value is ``init()`` with ``apply(_:)`` called for every event once, in the order of the log. Equal logs give equal
/// values, so a stored value can be thrown away and folded again.
///
/// ``Store/project(_:)`` starts one; ``TrayQueries/projected(_:)`` answers from any process.
public protocol Projection: Sendable {
    /// The name of the stored value, unique in a store: 1 to 128 bytes of UTF-8 without control characters.
    static var name: String { get }

    /// Raise it whenever ``apply(_:)`` or the encoding changes. A value stored under another version is not used; the log
    /// is folded again.
    static var version: UInt32 { get }

    /// The value before the first event.
    init()

    /// Takes in one more event.
    ///
    /// It must depend only on the value and the event: no clock, no random numbers, no input or output. It cannot fail;
    /// ignore events without a meaning here, and new kinds. It runs on the projection's thread and should not use the store.
    /// Calls that would wait for this thread do not work: `value(through:)` and `rebuild()` are
    /// refused, ``Projector/latest`` and ``Projector/progress`` end the process, and closing does not wait for this
    /// projection.
    ///
    /// Seqs ascend and may skip, because erased events and those that a compaction dropped are left out.
    mutating func apply(_ event: Event)

    /// Encodes the value for ``init(decoding:)``, in at most 64 MiB.
    ///
    /// Called at most about once a second, and less often when it takes long.
    func encoded() throws -> [UInt8]

    /// Decodes a value that ``encoded()`` encoded in the same ``version``.
    ///
    /// An error counts as damage: the log is folded again.
    init(decoding bytes: [UInt8]) throws
}

extension Projection {
    /// Whether it takes in what events changed.
    static var takesChanges: Bool { self is any TrayProjection.Type }
}

/// A custom fold over what the events changed in the trays, for counts of items by one's own rules.
///
/// An event says what was asked, such as "mark all as read"; its changes say what that did to each item of each user: marks, mutes,
/// snoozes and wakes, collapse keys, expiries, undo, and broadcasts to everybody who is subscribed.
///
/// ```swift
/// struct UnreadByCategory: TrayProjection, Codable {
///     static let name = "unread-by-category"
///     static let version: UInt32 = 1
///     private(set) var unread: [String: Int] = [:]
///
///     init() {}
///
///     mutating func apply(_ changes: [TrayChange], of event: Event) {
///         for change in changes where change.wasUnread != change.isUnread {
///             unread[change.item.content.category ?? "", default: 0] += change.isUnread ? 1 : -1
///         }
///     }
///
///     func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
///     init(decoding bytes: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(bytes)) }
/// }
/// ```
public protocol TrayProjection: Projection {
    /// Takes in one more event, and the items that it changed, by user and seq; an edit that changes only text does not count.
    ///
    /// The rules are those of ``Projection/apply(_:)``. If the log was compacted, it gets the events after the floor. The first
    /// of them also brings every item that the trays held at the floor, without ``TrayChange/before``. If a compaction passes
    /// the position of a stored value, the value is folded again from there.
    ///
    /// - Complexity: for an event, the store reads the pages of the user's items that it changed; for one of a topic, the states of
    ///   all users. Its changes are in memory together.
    mutating func apply(_ changes: [TrayChange], of event: Event)
}

extension TrayProjection {
    /// Takes in an event that changed nothing.
    public mutating func apply(_ event: Event) { apply([], of: event) }
}

/// The change that one event made to one item of a user.
public struct TrayChange: Hashable, Sendable, Codable {
    /// The owner of the tray.
    public var user: String
    /// The item as it is after the event.
    public var item: Item
    /// How it stood before; nil for one that was not there.
    public var before: ItemStanding?
    /// How it stands after the event.
    public var after: ItemStanding

    /// Whether it counted as unread before.
    public var wasUnread: Bool { before?.isUnread ?? false }
    /// Whether it counts as unread now.
    public var isUnread: Bool { after.isUnread }
}
