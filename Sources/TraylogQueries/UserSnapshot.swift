@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogLMDB
import TraylogStates

/// One user in a snapshot of the store: the state right after a certain event, with what is needed to answer from it.
package struct UserSnapshot {
    package let user: String
    /// 0 for somebody who never had an event.
    package let stream: StreamID
    package let store: StoreSnapshot
    /// The event that the state is as of; the state may have applied fewer if none came later.
    package let asOf: UInt64
    package var state: TrayState
    package let pages: StoredPages
    /// The past that is not stored yet; nil where nobody asks for the past.
    package let past: UnstoredPast?
    /// Whether the state was folded from the log alone, because what is stored of it is damaged.
    let isRefolded: Bool

    package init(
        user: String, stream: StreamID, store: StoreSnapshot, asOf: UInt64, state: TrayState, pages: StoredPages,
        past: UnstoredPast?, isRefolded: Bool = false
    ) {
        self.user = user
        self.stream = stream
        self.store = store
        self.asOf = asOf
        self.state = state
        self.pages = pages
        self.past = past
        self.isRefolded = isRefolded
    }

    package func tray() throws -> Tray { try state.tray(of: user, asOf: Seq(asOf), source: pages) }

    /// The same user at a moment; as of now without one.
    ///
    /// - Throws: ``Refusal`` as ``StoreSnapshot/seq(of:)``.
    package func at(_ moment: Moment?) throws -> UserSnapshot {
        guard let moment else { return self }
        return try at(store.seq(of: moment))
    }

    /// The same user right after `seq`, which is not beyond the head.
    package func at(_ seq: UInt64) throws -> UserSnapshot {
        guard seq < state.appliedSeq else { return with(state, pages, asOf: seq) }
        guard let past else { preconditionFailure("The past of a user was not asked for.") }
        if isRefolded { return try UserSnapshot(refolding: user, stream, in: store, through: seq, past) }
        let voidings = try state.voidings(stored: pages).filter { $0.undone <= seq }
        let found = try TrayState.state(at: seq, of: state, without: voidings, stored: pages, history: history(past))
        return with(found.state, found.pages ?? pages.viewing(.asOf(0)), asOf: seq)
    }

    /// The user's past, for a fold to read.
    package func history(_ past: UnstoredPast) -> SnapshotHistory {
        SnapshotHistory(
            store: store, pages: isRefolded ? store.pages(of: .absent, asOf: 0) : pages, unstored: past)
    }

    private func with(_ state: TrayState, _ pages: StoredPages, asOf seq: UInt64) -> UserSnapshot {
        UserSnapshot(
            user: user, stream: stream, store: store, asOf: seq, state: state, pages: pages, past: past,
            isRefolded: isRefolded)
    }

    package var hasher: IdentityHasher { store.record.hasher }

    /// Events that one call looks at.
    private static let eventsAtOnce = 1_000

    /// Some of the user's own events, without those that a compaction took.
    ///
    /// - Returns: at most `limit` events and 1,000, and the seq to go on with; nil at the end.
    package func events(
        from first: UInt64, through end: UInt64, limit: Int
    ) throws -> (events: [Event], next: UInt64?) {
        let wanted = min(limit, Self.eventsAtOnce)
        let seqs = try state.events(from: first, through: end, limit: wanted, stored: pages)
        let events = try seqs.compactMap { try store.holds($0) ? pages.event($0) : nil }
        return (events, seqs.count == wanted ? seqs.last.map { $0 + 1 } : nil)
    }

    /// Whether the user had any event by `end`.
    package func hadEvent(by end: UInt64) throws -> Bool {
        // The first ones may have left the log.
        if stream != .absent, stream < store.record.floorStreams { return true }
        return try !events(from: 1, through: end, limit: 1).events.isEmpty
    }
}

extension UserSnapshot {
    /// Somebody who never had an event.
    package init(stranger user: String, in store: StoreSnapshot) {
        self.init(
            user: user, stream: .absent, store: store, asOf: store.head, state: TrayState(),
            pages: store.pages(of: .absent, asOf: 0),
            past: UnstoredPast())
    }

    /// A user whose stored state is damaged: what is stored of states is a cache of the log, and damage there costs time,
    /// not answers.
    ///
    /// - Complexity: O(log).
    package init(
        refolding user: String, _ stream: StreamID, in store: StoreSnapshot, through seq: UInt64, _ past: UnstoredPast
    ) throws {
        let folded = try LogFold.folded(
            stream, through: seq, record: store.record, tables: store.tables, rows: store)
        self.init(
            user: user, stream: stream, store: store, asOf: seq, state: folded?.state ?? TrayState(),
            // All pages are in the state, but for those of a base.
            pages: folded?.base?.pages ?? store.pages(of: .absent, asOf: 0), past: past, isRefolded: true)
    }
}

extension LogFold {
    /// One stream alone, folded from the log; nil when it has no events.
    ///
    /// - Complexity: O(log).
    package static func folded(
        _ stream: StreamID, through head: UInt64, record: StoreRecord, tables: Tables, rows: any RowReader
    ) throws -> Folded? {
        var fold = LogFold(rows: rows, log: tables.log, record: record, head: head)
        fold.stream = stream
        fold.foldsTopicsThroughHead = true
        fold.bases = FoldBases(of: record, tables, rows)
        var found: Folded?
        try fold.run(progress: { _ in }) { found = $0 }
        return found
    }
}
