@_spi(Replication) import TraylogDomain

/// A copy of one user's tray away from the store: a snapshot, and the changes after it.
///
/// It folds them as the store does, so that every query has the store's answer at ``through``. It knows the content of
/// those items that the snapshot had it of.
///
/// ```swift
/// var replica = try TrayReplica([try await store.snapshot(of: "ann")])
/// let changes = try await store.changes(of: "ann", after: replica.through, history: replica.history)
/// try replica.apply(changes)
/// let badge = try replica.tray().unseen
/// ```
@_spi(Replication) public struct TrayReplica: Sendable {
    /// The user of the tray.
    public let user: String
    /// The newest event that the answers reflect.
    public private(set) var through: Seq
    /// The store's history when ``through`` was read.
    public package(set) var history: StoreHistory
    /// The number of the user's stream; 0 for somebody without events.
    package private(set) var stream: UInt32
    /// The event that the snapshot is as of.
    ///
    /// Nothing at or below it can be undone here.
    public let snapshotSeq: Seq
    var log: ReplicaLog
    var state: TrayState

    /// - Parameters:
    ///   - snapshot: all pages of one snapshot, in order.
    ///   - hasher: has a secret of its own; answers do not depend on it.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` when pages are missing, or belong to different snapshots.
    /// - Complexity: O(items).
    package init(_ snapshot: [TraySnapshot], hasher: IdentityHasher) throws(TraylogError) {
        guard let first = snapshot.first, snapshot.last?.next == nil,
            snapshot.allSatisfy({ $0.asOf == first.asOf && $0.stream == first.stream && $0.user == first.user })
        else { throw .incompleteSnapshot }
        user = first.user
        through = first.asOf
        (history, stream) = (first.history, first.stream)
        snapshotSeq = first.asOf
        state = TrayState(snapshot, hasher: hasher)
        log = ReplicaLog(snapshot, base: state, hasher: hasher)
    }

    /// A replica that was stored as rows.
    init(user: String, through: Seq, state: TrayState, log: ReplicaLog) {
        self.user = user
        self.through = through
        // The owner of a stored replica keeps these beside it.
        (history, stream) = (StoreHistory(), 0)
        snapshotSeq = Seq(state.appliedSeq)
        self.state = state
        self.log = log
    }

    /// Folds in the events that follow.
    ///
    /// - Parameters:
    ///   - events: all changes after ``through`` (those of `changes(of:after:)`), in order. Earlier ones are passed over.
    ///   - end: the event through which they are all changes.
    /// - Throws: ``TraylogError/refused(_:)``, `staleSnapshot`, after which the replica is as it was.
    /// - Complexity: as the store's. An `undone` folds again from the snapshot on.
    public mutating func apply(_ events: [Event], through end: Seq) throws(TraylogError) {
        let new = events.filter { $0.seq > through }
        for case .undone(let event) in new.lazy.map(\.body) where event <= snapshotSeq {
            throw .refused(.staleSnapshot(event))
        }
        let own = new.filter { $0.user != nil }.map(\.seq.rawValue)
        var index = 0
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.count ? own[index] : 0
        }
        var folded = state
        do {
            try log.append(new)
            try folded.catchUp(
                own: own.first ?? 0, through: max(end, through).rawValue, stored: log, history: log, next: next)
        } catch {
            log.remove(new)
            throw TraylogError(replica: error)
        }
        state = folded
        through = max(end, through)
    }

    /// Folds in the changes that follow, if they are of the same stream.
    ///
    /// - Throws: ``TraylogError/refused(_:)``, `erased`, when the user was erased meanwhile and the name was given to somebody else; as
    ///   ``apply(_:through:)``. The replica is as it was then.
    package mutating func apply(
        _ events: [Event], through end: Seq, stream: UInt32, history: StoreHistory
    ) throws(TraylogError) {
        guard self.stream == 0 || stream == self.stream else { throw .refused(.erased(user: user)) }
        try apply(events, through: end)
        (self.stream, self.history) = (stream, history)
    }

    /// The revision of the user's newest event; 0 for somebody without events.
    package var revision: UInt64 { state.events.count }

    /// The tray after ``through``.
    public func tray() throws(TraylogError) -> Tray {
        try answering { try state.tray(of: user, asOf: through, source: log) }
    }

    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for an invalid limit, or for a value that no item can have.
    public func inbox(_ query: InboxQuery = InboxQuery()) throws(TraylogError) -> Page<Item, Cursor> {
        try answering {
            try query.validate()
            let (shown, next) = try state.shownItems(query, of: user, hasher: log.hasher, stored: log)
            let items = try shown.map { try $0.item(from: log) }
            return Page(items, next: next?.within(history), asOf: through)
        }
    }

    /// What is muted after ``through``.
    public func mutes() throws(TraylogError) -> Mutes {
        try answering { Mutes(user: user, asOf: through, mutes: try state.mutes(from: log)) }
    }

    /// - Throws: ``TraylogError/refused(_:)``: `invalid` for an invalid limit.
    public func threads(
        limit: Int = 20, cursor: Cursor? = nil
    ) throws(TraylogError) -> Page<ThreadGroup, Cursor> {
        try answering {
            try Limits.check(pageLimit: limit)
            var page = try state.threads(asOf: through, limit: limit, cursor: cursor, source: log)
            page.next = page.next?.within(history)
            return page
        }
    }

    func answering<Answer>(_ body: () throws -> Answer) throws(TraylogError) -> Answer {
        do { return try body() } catch { throw TraylogError(replica: error) }
    }
}

extension TraylogError {
    /// Pages are missing, or they belong to different snapshots.
    package static let incompleteSnapshot = TraylogError.refused(
        .invalid(
            field: "snapshot",
            reason: "pages are missing, or belong to different snapshots; give all pages of one, in order"))

    static func damagedReplica(_ what: String) -> TraylogError {
        .failed(
            StoreFailure(code: .damaged, message: "the replica is damaged: \(what); make a new one from a new snapshot")
        )
    }

    /// What went wrong while a replica was read or changed.
    init(replica error: any Error) {
        self =
            switch error {
            case let error as TraylogError: error
            case let refusal as Refusal: .refused(refusal)
            case let fault as RevisionFault:
                .damagedReplica(
                    "event \(fault.seq) has revision \(fault.found), where revision \(fault.expected) comes next")
            default: .damagedReplica("\(error)")
            }
    }
}

extension TrayState {
    /// The state that a snapshot describes.
    fileprivate init(_ snapshot: [TraySnapshot], hasher: IdentityHasher) {
        self.init()
        let first = snapshot[0]
        for topic in first.topics {
            let identity = hasher.identity(of: topic.topic, as: .topic)
            subscribe(to: identity)
            guard let place = subscription(to: identity) else { continue }
            topics[place].hasItems = true
            topics[place].isActive = topic.until == nil
        }
        for (index, mute) in first.mutes.enumerated() {
            mutes.add(mute.scope, by: ReplicaLog.mutes + UInt64(index), hasher)
        }
        // Nothing is stored anywhere, so that nothing can fail to load.
        for part in snapshot.lazy.flatMap(\.items) { try? add(part, hasher) }
        for event in first.voided { try? voided.insert(event.rawValue, seq: first.asOf.rawValue) { _ in nil } }
        seenUpTo = first.tray.seenUpTo.rawValue
        seenBy = first.tray.seenAt == nil ? 0 : ReplicaLog.seen
        appliedSeq = first.asOf.rawValue
        events.count = first.tray.revision
    }

    private mutating func add(_ part: TraySnapshot.Part, _ hasher: IdentityHasher) throws {
        let (item, content) = (part.item, part.item.content)
        let (seq, position) = (item.seq.rawValue, item.position.rawValue)
        var flags: ItemFlags = []
        for (isSet, flag) in [
            (item.isSeen, ItemFlags.seen), (item.isRead, .read), (item.isArchived, .archived),
            (item.isDeleted, .deleted),
            (content.isSilent, .silent), (item.isMuted, .muted), (item.snoozedUntil != nil, .snoozed),
            (!content.actions.isEmpty, .actionable), (item.outcome != nil, .acted),
        ] where isSet { flags.insert(flag) }
        if item.snoozedUntil != nil { tail.override(seq, .snoozedUntil, by: ReplicaLog.snooze(of: item.seq)) }
        if item.outcome != nil { tail.override(seq, .outcome, by: ReplicaLog.outcomes | seq) }
        if item.arrivedAt != nil { tail.override(seq, .arrival, by: ReplicaLog.arrivals | seq) }
        if position != seq { try moved.insert(seq, seq: position) { _ in nil } }
        if let key = item.key { try keys.insert(hasher.identity(of: key, as: .key).rawValue, seq: seq) { _ in nil } }
        if let collapseKey = content.collapseKey {
            let identity = hasher.identity(of: collapseKey, as: .collapseKey)
            try collapseKeys.insert(identity.rawValue, seq: seq) { _ in nil }
        }
        try append(
            ItemEntry(
                seq: seq, position: position, thread: hasher.identity(of: content.thread, as: .thread),
                category: hasher.identity(of: content.category, as: .category),
                argument: hasher.identity(of: content.summaryArgument, as: .summaryArgument),
                summaryCount: content.summaryCount, flags: flags),
            stored: NoStoredPages())
    }
}
