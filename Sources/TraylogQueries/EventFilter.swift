import TraylogDomain
import TraylogJSON

/// The criteria of a search of the log.
///
/// Every condition that is given must match; nil and empty ones are not asked about.
///
/// Names are compared byte by byte.
public struct EventFilter: Hashable, Sendable, Encodable {
    /// The user whose own events match; a broadcast has no user.
    public var user: String?
    /// The kinds of events that match; all kinds when empty.
    public var kinds: Set<EventKind> = []
    /// The actor: the user where no other actor is named.
    public var actor: String?
    /// The device that the actor used.
    public var device: String?
    /// The idempotency key.
    public var key: String?
    /// The thread that an item came in, or that a bulk mark or a mute names.
    public var thread: String?
    /// The category, in the same way.
    public var category: String?
    /// A part of a title or body that the event wrote, in whatever case.
    public var text: String?
    /// Recorded at or after this time.
    public var since: Timestamp?
    /// Recorded at or before this time.
    public var until: Timestamp?

    /// A filter by the criteria that are given; without any, one that every event passes.
    ///
    /// ```swift
    /// let answers = EventFilter(user: "ann", kinds: [.acted])
    /// ```
    public init(
        user: String? = nil, kinds: Set<EventKind> = [], actor: String? = nil, device: String? = nil,
        key: String? = nil, thread: String? = nil, category: String? = nil, text: String? = nil,
        since: Timestamp? = nil, until: Timestamp? = nil
    ) {
        (self.user, self.kinds, self.actor, self.device, self.key) = (user, kinds, actor, device, key)
        (self.thread, self.category, self.text) = (thread, category, text)
        (self.since, self.until) = (since, until)
    }
}

@_spi(JSON) extension EventFilter: Decodable {
    /// Asks nothing of what is missing.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init()
        (user, actor) = (try fields[maybe: "user"], try fields[maybe: "actor"])
        kinds = try fields[maybe: "kinds"] ?? []
        (device, key) = (try fields[maybe: "device"], try fields[maybe: "key"])
        (thread, category) = (try fields[maybe: "thread"], try fields[maybe: "category"])
        (text, since, until) = (try fields[maybe: "text"], try fields[maybe: "since"], try fields[maybe: "until"])
    }
}

extension EventFilter {
    /// Refuses names that nobody can have, and a text that is too long to be looked for.
    package func validate() throws(Refusal) {
        try Limits.check(identifier: user, "user")
        try Limits.check(identifier: actor, "actor")
        try Limits.check(identifier: device, "device")
        try Limits.check(identifier: key, "key")
        try Limits.check(identifier: thread, "thread")
        try Limits.check(identifier: category, "category")
        try Limits.check(text: text, atMost: Limits.titleBytes, "text")
    }

    /// Whether an event is one of those that are looked for.
    ///
    /// ```swift
    /// let filter = EventFilter(kinds: [.notified])
    /// for event in try await store.log.events().elements where filter.matches(event) { print(event.seq) }
    /// ```
    public func matches(_ event: Event) -> Bool {
        if !kinds.isEmpty, !kinds.contains(event.kind) { return false }
        if let since, event.recordedAt < since { return false }
        if let until, event.recordedAt > until { return false }
        return Self.admits(user, event.user) && Self.admits(actor, event.knownActor)
            && Self.admits(device, event.device) && Self.admits(key, event.key) && Self.admits(thread, event.thread)
            && Self.admits(category, event.category) && hasText(event)
    }

    private static func admits(_ wanted: String?, _ found: @autoclosure () -> String?) -> Bool {
        guard let wanted else { return true }
        return found().map { $0.hasSameBytes(as: wanted) } ?? false
    }

    private func hasText(_ event: Event) -> Bool {
        guard let text, !text.isEmpty else { return true }
        let wanted = SoughtBytes(Array(text.lowercased().utf8))
        return event.texts.contains { wanted.occurs(in: $0.lowercased().utf8Span.span) }
    }
}

extension Event {
    /// The user where nobody else is named; nil where an erasure took the name.
    fileprivate var knownActor: String? {
        if case .redacted = body { return nil }
        return actor ?? user
    }

    fileprivate var thread: String? {
        switch body {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content): content.thread
        case .allMarked(_, let filter, _): if case .named(let name) = filter.thread { name } else { nil }
        case .muted(.thread(let name), _), .unmuted(.thread(let name)): name
        default: nil
        }
    }

    fileprivate var category: String? {
        switch body {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content): content.category
        case .allMarked(_, let filter, _): filter.category
        case .muted(.category(let name), _), .unmuted(.category(let name)): name
        default: nil
        }
    }

    /// The texts of the event that people read.
    fileprivate var texts: [String] {
        switch body {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content):
            [content.title, content.body].compactMap(\.self)
        case .edited(_, let edit):
            [edit.title, edit.body].compactMap { if case .set(let text) = $0 { text } else { nil } }
        default: []
        }
    }
}
