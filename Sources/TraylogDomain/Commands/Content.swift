/// How much an item may interrupt, from least to most.
public enum InterruptionLevel: UInt8, Hashable, Sendable, CaseIterable {
    case passive = 0
    case active = 1
    case timeSensitive = 2
    case critical = 3
}

/// What a publisher says about an item: the fields of `notify` and `broadcast`.
///
/// Limits are those of ``Limits``; they are checked when the command is performed.
public struct Content: Hashable, Sendable {
    /// The conversation or object that the item belongs to; nil puts it in the app-level group.
    public var thread: String?
    public var category: String?
    public var title: String?
    public var body: String?
    /// Who or what a summary names: "5 more notifications from ARGUMENT".
    public var summaryArgument: String?
    /// How many notifications this item stands for in a summary.
    public var summaryCount: UInt32
    /// In the inbox on request only, and never counted.
    public var silent: Bool
    public var level: InterruptionLevel
    /// When a tick may expire the item.
    public var expiresAt: Timestamp?
    /// A live item of the same user with the same key is superseded. Not allowed in a broadcast.
    public var collapseKey: String?
    /// Any JSON value as its text, kept byte for byte.
    public var data: String?

    public init(
        thread: String? = nil, category: String? = nil, title: String? = nil, body: String? = nil,
        summaryArgument: String? = nil, summaryCount: UInt32 = 1, silent: Bool = false,
        level: InterruptionLevel = .active, expiresAt: Timestamp? = nil, collapseKey: String? = nil,
        data: String? = nil
    ) {
        self.thread = thread
        self.category = category
        self.title = title
        self.body = body
        self.summaryArgument = summaryArgument
        self.summaryCount = summaryCount
        self.silent = silent
        self.level = level
        self.expiresAt = expiresAt
        self.collapseKey = collapseKey
        self.data = data
    }
}
