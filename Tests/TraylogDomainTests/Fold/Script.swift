@testable import TraylogDomain

/// One user's short history, written by hand, without and with a flush after every event.
struct Script {
    static let user = "ann"
    static let hasher = IdentityHasher(key0: 1, key1: 2)

    private(set) var log: [Event] = []
    private(set) var state = TrayState()
    private(set) var flushed = FlushedTray()

    var head: UInt64 { UInt64(log.count) }
    var source: RowSource { RowSource(log: log) }
    var flushedSource: RowSource { flushed.source(log) }

    /// Appends an event without checking whether a command could cause it.
    mutating func append(_ body: Event.Body, key: String? = nil, fingerprint: UInt64 = 0) throws {
        let event = Event(
            seq: Seq(head + 1), recordedAt: Timestamp(milliseconds: Int64(head)), user: Self.user, key: key, body: body,
            commandFingerprint: fingerprint)
        log.append(event)
        let fact = Fact(event, hasher: Self.hasher)
        try state.apply(fact, stored: NoStoredPages())
        try flushed.apply(fact)
        flushed.flush()
    }

    mutating func notify(_ count: Int, _ content: Content = Content(title: "hi")) throws {
        for _ in 0..<count { try append(.notified(content)) }
    }

    mutating func markAll(_ mark: BulkMark, _ filter: ItemFilter = ItemFilter(), upTo: Seq? = nil) throws {
        try append(.allMarked(mark, filter, upTo: upTo ?? Seq(head)))
    }

    mutating func mark(_ mark: Mark, _ items: Seq...) throws { try append(.marked(mark, items: items)) }

    /// An event of another user takes the next seq.
    mutating func skip() {
        log.append(
            Event(seq: Seq(head + 1), recordedAt: Timestamp(milliseconds: 0), user: "bob", body: .notified(Content())))
    }

    func decide(_ action: Command.Action, key: String? = nil, fingerprint: UInt64 = 0) throws -> Decision {
        let command = Command(user: Self.user, action, key: key)
        return try state.decide(
            command, head: head, fingerprint: fingerprint, hasher: Self.hasher, source: source)
    }

    func tray() throws -> Tray { try state.tray(of: Self.user, asOf: Seq(head), source: source) }

    func flushedTray() throws -> Tray {
        try flushed.state.tray(of: Self.user, asOf: Seq(head), source: flushedSource)
    }

    func entry(_ item: UInt64) throws -> ItemEntry? { try flushed.state.entry(of: item, stored: flushedSource) }

    func threads(limit: Int = 100, cursor: Cursor? = nil) throws -> Page<ThreadGroup, Cursor> {
        try state.threads(asOf: Seq(head), limit: limit, cursor: cursor, source: source)
    }

    func inbox(_ query: InboxQuery = InboxQuery()) throws -> (seqs: [UInt64], next: Cursor?) {
        let (items, next) = try flushed.state.shownItems(
            query, of: Self.user, hasher: Self.hasher, stored: flushedSource)
        return (items.map(\.entry.seq), next)
    }
}
