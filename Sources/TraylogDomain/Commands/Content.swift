/// How much an item may interrupt, from least to most.
///
/// The raw values are the names in JSON and on the command line.
public enum InterruptionLevel: String, Hashable, Sendable, CaseIterable {
    /// How a device may present it: quietly in the list, as usual, at once even if others wait, or always.
    case passive, active, timeSensitive, critical
}

extension InterruptionLevel: Comparable {
    /// Whether the left one may interrupt less.
    public static func < (left: InterruptionLevel, right: InterruptionLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .passive: 0
        case .active: 1
        case .timeSensitive: 2
        case .critical: 3
        }
    }
}

/// An answer that an item offers, such as a button.
public struct ItemAction: Hashable, Sendable {
    /// The name for programs: 1 to 64 bytes without control characters, unique within the item.
    public var id: String
    /// The text for people: 1 to 128 bytes.
    public var label: String

    /// An action with its name and its text.
    public init(id: String, label: String) {
        self.id = id
        self.label = label
    }
}

/// The part of an item that its publisher writes: the fields of `notify` and `broadcast`.
///
/// The limits are in ``Limits``. They are checked when the command is performed.
///
/// ```swift
/// let left = Content(title: "Build 17 failed", data: #"{"number":17,"branch":"main"}"#)
/// let right = Content(title: "Build 17 failed", data: #"{ "branch": "main", "number": 17.0 }"#)
/// print(left == right)  // true: data is compared by value
/// ```
public struct Content: Hashable, Sendable {
    /// The conversation or object that the item belongs to; without one, it is in the app-level group.
    public var thread: String?
    /// The kind of notification, for counts, muting and filters.
    public var category: String?
    /// A line for people, of at most 1 KiB.
    public var title: String?
    /// A text for people, of at most 16 KiB.
    public var body: String?
    /// The person or thing that a summary names: "5 more notifications from ARGUMENT".
    public var summaryArgument: String?
    /// How many notifications this item stands for in a summary.
    public var summaryCount: UInt32
    /// A silent item is never counted, and an inbox shows it on request only.
    public var isSilent: Bool
    /// How much the item may interrupt.
    public var level: InterruptionLevel
    /// The time from which a tick may expire the item.
    public var expiresAt: Timestamp?
    /// The time from which a tick appends `reminded`, once, if the item is counted and unread.
    public var remindAt: Timestamp?
    /// The time from which a tick lets the item arrive; until then nobody but its publisher knows of it.
    ///
    /// ``expiresAt`` and ``remindAt`` must be later. A time that is not after the event's own has no effect. Nil once the item has
    /// arrived.
    public var notBefore: Timestamp?
    /// The item supersedes live items of the same user with the same collapse key; not allowed in a broadcast.
    public var collapseKey: String?
    /// The answers that it offers, at most 8; an edit does not change them.
    public var actions: [ItemAction]
    /// A JSON value as text, kept byte for byte.
    ///
    /// Contents with the same JSON value are equal, whatever its white space, the order of its members, and the form of its
    /// numbers and escapes.
    @inlinable
    public var data: String? {
        get { value?.text }
        set { value = newValue.map(JSONText.init) }
    }
    @usableFromInline
    internal var value: JSONText?

    /// The content of a notification.
    ///
    /// The store checks its sizes (``Limits``) when the command is performed.
    public init(
        thread: String? = nil, category: String? = nil, title: String? = nil, body: String? = nil,
        summaryArgument: String? = nil, summaryCount: UInt32 = 1, isSilent: Bool = false,
        level: InterruptionLevel = .active, expiresAt: Timestamp? = nil, remindAt: Timestamp? = nil,
        notBefore: Timestamp? = nil, collapseKey: String? = nil, actions: [ItemAction] = [], data: String? = nil
    ) {
        self.thread = thread
        self.category = category
        self.title = title
        self.body = body
        self.summaryArgument = summaryArgument
        self.summaryCount = summaryCount
        self.isSilent = isSilent
        self.level = level
        self.expiresAt = expiresAt
        self.remindAt = remindAt
        self.notBefore = notBefore
        self.collapseKey = collapseKey
        self.actions = actions
        value = data.map(JSONText.init)
    }
}

extension Content {
    /// Whether an edit from one to the other would change nothing: texts are the same bytes, ``data`` the same value.
    package func hasSameValues(as other: Content) -> Bool {
        self == other && title.hasSameBytes(as: other.title) && body.hasSameBytes(as: other.body)
            && summaryArgument.hasSameBytes(as: other.summaryArgument) && thread.hasSameBytes(as: other.thread)
            && category.hasSameBytes(as: other.category) && collapseKey.hasSameBytes(as: other.collapseKey)
    }
}

extension InterruptionLevel {
    /// The number that stands for it in files.
    @inlinable
    package var code: UInt8 {
        switch self {
        case .passive: 0
        case .active: 1
        case .timeSensitive: 2
        case .critical: 3
        }
    }

    /// The level of a number in a file; nil for a number that none has.
    package init?(code: UInt8) {
        switch code {
        case 0: self = .passive
        case 1: self = .active
        case 2: self = .timeSensitive
        case 3: self = .critical
        default: return nil
        }
    }
}

/// The effect of an edit on one field.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    /// Leaves the value as it is.
    case keep
    /// Removes the value. A field with a default returns to it.
    case clear
    /// Replaces the value.
    case set(Value)
}

extension Change {
    fileprivate func map<Other>(_ transform: (Value) -> Other) -> Change<Other> {
        switch self {
        case .keep: .keep
        case .clear: .clear
        case .set(let value): .set(transform(value))
        }
    }
}

/// Changes to an item in place: each field is kept, cleared or set.
public struct ContentEdit: Hashable, Sendable {
    /// ``Content/title``.
    public var title: Change<String> = .keep
    /// ``Content/body``.
    public var body: Change<String> = .keep
    /// ``Content/summaryArgument``.
    public var summaryArgument: Change<String> = .keep
    /// ``Content/summaryCount``.
    public var summaryCount: Change<UInt32> = .keep
    /// ``Content/level``.
    public var level: Change<InterruptionLevel> = .keep
    /// ``Content/expiresAt``.
    public var expiresAt: Change<Timestamp> = .keep
    /// ``Content/remindAt``; another time allows a new reminder.
    public var remindAt: Change<Timestamp> = .keep
    /// ``Content/notBefore`` of an item that has not arrived; it cannot be cleared.
    ///
    /// A time that has come lets the next tick bring the item.
    public var notBefore: Change<Timestamp> = .keep
    /// JSON text, as in ``Content/data``; compared by value, as there.
    public var data: Change<String> {
        get { value.map { $0.text } }
        set { value = newValue.map(JSONText.init) }
    }
    private var value: Change<JSONText> = .keep

    /// An edit of the fields that are given; without any, one that keeps everything.
    ///
    /// ```swift
    /// let edit = ContentEdit(title: .set("Build 17 passed"), body: .clear)
    /// ```
    public init(
        title: Change<String> = .keep, body: Change<String> = .keep, summaryArgument: Change<String> = .keep,
        summaryCount: Change<UInt32> = .keep, level: Change<InterruptionLevel> = .keep,
        expiresAt: Change<Timestamp> = .keep, remindAt: Change<Timestamp> = .keep,
        notBefore: Change<Timestamp> = .keep, data: Change<String> = .keep
    ) {
        (self.title, self.body, self.summaryArgument) = (title, body, summaryArgument)
        (self.summaryCount, self.level) = (summaryCount, level)
        (self.expiresAt, self.remindAt, self.notBefore) = (expiresAt, remindAt, notBefore)
        self.data = data
    }
}

/// JSON text that is compared by its value: white space, the order of members and the form of numbers and escapes do not count.
@usableFromInline
internal struct JSONText: Hashable, Sendable {
    @usableFromInline
    internal var text: String

    @usableFromInline
    internal init(_ text: String) { self.text = text }

    @usableFromInline
    internal static func == (left: JSONText, right: JSONText) -> Bool {
        CanonicalJSON.areEqual(left.text, right.text)
    }

    @usableFromInline
    internal func hash(into hasher: inout Hasher) { CanonicalJSON.hash(text, into: &hasher) }
}
