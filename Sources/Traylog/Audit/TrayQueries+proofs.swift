@_spi(Operations) import TraylogChecks
import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogTree
import TraylogWriter

extension BlockingQueries {
    /// Size and root of the Merkle tree over the log through a moment, or through the head.
    ///
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; refused `compacted` for a time below the floor. A seq below it
    ///   always keeps its tree head.
    /// - Complexity: O(log events) where the tree is stored (`storeTree()`, or a compaction), with 255 events of the
    ///   log to hash for each stored level. Later events are hashed; this store or reader hashes each 256 of them once.
    @available(*, noasync, message: "use `await store.treeHead`; this call blocks a thread that tasks share")
    @_spi(Operations) public func treeHead(asOf: Moment? = nil) throws(TraylogError) -> TreeHead {
        let size = try queries.treeSize(asOf)
        return try queries.treeHead(of: size)
    }

    /// The tree over the log through the head, which can be extended by later records (``MerkleAccumulator/append(_:)``).
    ///
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(*, noasync, message: "use `await store.treeAccumulator`; this call blocks a thread that tasks share")
    @_spi(Operations) public func treeAccumulator() throws(TraylogError) -> MerkleAccumulator {
        try queries.treeAccumulator()
    }

    /// The proof that an event is in the log, as the log was at a moment.
    ///
    /// An event that left the log is proved by the hash of its leaf. Then ``EventProof/leaf`` is nil.
    ///
    /// - Throws: ``TraylogError``: refused `unknownEvent` for 0; refused `compacted` for a time below the floor; refused
    ///   `upToBeyondHead`.
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(*, noasync, message: "use `await store.proof`; this call blocks a thread that tasks share")
    @_spi(Operations) public func proof(of seq: Seq, asOf: Moment? = nil) throws(TraylogError) -> EventProof {
        let size = try queries.treeSize(asOf)
        return try queries.prove(through: size) { nodes in
            guard seq > .zero else { throw Refusal.unknownEvent(seq) }
            guard seq.rawValue <= size else { throw Refusal.upToBeyondHead(seq, head: Seq(size), field: "seq") }
            return try queries.proof(of: seq, in: size, nodes)
        }
    }

    /// The proof that the log after `second` begins with all of the log after `first`.
    ///
    /// - Parameters:
    ///   - first: the size of the earlier tree.
    ///   - second: nil for the head.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, `compacted` as for ``treeHead(asOf:)``, and `invalid` (field
    ///   `old`) when `first` is after `second`.
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(*, noasync, message: "use `await store.treeGrowth`; this call blocks a thread that tasks share")
    @_spi(Operations) public func treeGrowth(from first: Seq, to second: Seq? = nil) throws(TraylogError) -> TreeGrowth
    {
        let size = try queries.treeSize(second.map(Moment.seq))
        return try queries.prove(through: size) { nodes in
            guard first.rawValue <= size else {
                guard let second else { throw Refusal.upToBeyondHead(first, head: Seq(size), field: "first") }
                throw Refusal.invalid(field: "old", reason: "\(first) is after \(second)")
            }
            return TreeGrowth(
                first: try nodes.head(of: first.rawValue), second: try nodes.head(of: size),
                consistency: try nodes.consistencyProof(from: first.rawValue, to: size))
        }
    }
}

@_spi(Operations) extension BlockingQueries {
    /// A tree head with a checkpoint that others have seen, for a file that shows by itself which log it is about.
    ///
    /// - Parameter note: a checkpoint of this log; nil for none.
    /// - Returns: without a checkpoint where that is of an earlier tree, or of another log, as after a restore of a backup.
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(*, noasync, message: "use `await store.treeHead`; this call blocks a thread that tasks share")
    public func treeHead(_ head: TreeHead, seenIn note: SignedNote?) throws(TraylogError) -> KeptTreeHead {
        let bare = KeptTreeHead(head: head, note: nil)
        guard let note, let seen = try? Checkpoint(note.body).head, seen.size >= head.size,
            seen.size <= UInt64(try self.head())
        else { return bare }
        guard head.size > 0 else { return KeptTreeHead(head: head, note: note) }
        let growth = try treeGrowth(from: Seq(head.size), to: Seq(seen.size))
        guard growth.first == head, growth.second == seen else { return bare }
        return KeptTreeHead(head: head, note: note, path: growth.consistency.path)
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    public func treeHead(_ head: TreeHead, seenIn note: SignedNote?) async throws(TraylogError) -> KeptTreeHead {
        try await asking { store throws(TraylogError) in try store.treeHead(head, seenIn: note) }
    }
}

// The tree is read in transactions of its own, some of them on another thread: no leaf of it ever changes.
extension _Queries {
    /// The size of the tree at a moment.
    ///
    /// The tree has no floor: it has the hashes of events that left the log.
    fileprivate func treeSize(_ moment: Moment?) throws(TraylogError) -> UInt64 {
        try answer { store in
            guard case .seq(let seq)? = moment else { return try store.seq(of: moment) }
            guard seq.rawValue <= store.head else {
                throw Refusal.upToBeyondHead(seq, head: Seq(store.head), field: "asOf")
            }
            return seq.rawValue
        }
    }

    /// Runs what needs hashes of the tree.
    fileprivate func prove<Answer>(
        through size: UInt64, _ body: (LogNodes) throws -> Answer
    ) throws(TraylogError) -> Answer {
        try translatingErrors { _ in try body(nodes(through: size)) }
    }

    func treeAccumulator() throws(TraylogError) -> MerkleAccumulator {
        let size = try treeSize(nil)
        return try prove(through: size) { try $0.accumulator(of: size) }
    }

    func storedTreeSize() throws(TraylogError) -> UInt64 {
        try translatingErrors { try $0.treeStorage.size }
    }

    func treeHead(of size: UInt64) throws(TraylogError) -> TreeHead {
        try prove(through: size) { try $0.head(of: size) }
    }

    func nodes(through size: UInt64) throws -> LogNodes { try tree.nodes(through: size, source.treeStorage) }

    fileprivate func proof(of seq: Seq, in size: UInt64, _ nodes: LogNodes) throws -> EventProof {
        let (index, log) = (seq.rawValue - 1, source.tables.log.events)
        let inclusion = try nodes.inclusionProof(ofLeaf: index, in: size)
        let head = try nodes.head(of: size)
        if let leaf = try source.environment.read({ try log.leaf(seq.rawValue, in: $0) }) {
            return EventProof(leaf: leaf, head: head, inclusion: inclusion)
        }
        return EventProof(leafHash: try nodes.node(level: 0, index: index), head: head, inclusion: inclusion)
    }
}

extension SnapshotSource {
    var treeStorage: TreeStorage { TreeStorage(rows: environment, table: tables.log.merkle, log: tables.log.events) }
}

// Proofs and reports again for tasks: they are made on threads of the store, and the task sleeps meanwhile.

extension TrayQueries {
    /// Size and root of the Merkle tree over the log through a moment, or through the head.
    ///
    /// ```swift
    /// let head = try await store.treeHead()
    /// print(head.size, head.root)
    /// ```
    public func treeHead(asOf: Moment? = nil) async throws(TraylogError) -> TreeHead {
        try await asking { store throws(TraylogError) in try store.treeHead(asOf: asOf) }
    }

    /// The tree over the log through the head, which can be extended by later records (``MerkleAccumulator/append(_:)``).
    ///
    /// - Complexity: as for `treeHead(asOf:)`.
    @_spi(Operations) public func treeAccumulator() async throws(TraylogError) -> MerkleAccumulator {
        try await asking(atLength: true) { store throws(TraylogError) in try store.queries.treeAccumulator() }
    }

    /// How many events the stored tree covers; the others are hashed when somebody asks for a tree head or a proof.
    @_spi(Operations) public func storedTreeSize() async throws(TraylogError) -> UInt64 {
        try await asking { store throws(TraylogError) in try store.queries.storedTreeSize() }
    }

    /// The proof that an event is in the log as it was at a moment.
    ///
    /// ```swift
    /// let proof = try await store.proof(of: 17)
    /// print(proof.inclusion.proves(proof.leafHash, in: proof.head))
    /// ```
    public func proof(of seq: Seq, asOf: Moment? = nil) async throws(TraylogError) -> EventProof {
        try await asking { store throws(TraylogError) in try store.proof(of: seq, asOf: asOf) }
    }

    /// The proof that the log after `second` begins with all of the log after `first`.
    ///
    /// ```swift
    /// let growth = try await store.treeGrowth(from: 1_000)
    /// print(growth.consistency.proves(from: growth.first, to: growth.second))
    /// ```
    public func treeGrowth(from first: Seq, to second: Seq? = nil) async throws(TraylogError) -> TreeGrowth {
        try await asking { store throws(TraylogError) in try store.treeGrowth(from: first, to: second) }
    }

    /// Every event that touched a user's tray, with its effect on the counts: the user's own events, and those of topics
    /// that reached the user.
    ///
    /// ```swift
    /// let report = try await store.auditReport(of: "ann", from: .time(.now - .seconds(86_400)))
    /// print("\(report.steps.count) steps")
    /// ```
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - from: the first event, or the earliest time; nil for the first event of the log.
    ///   - to: the last event, or the latest time; nil for the head.
    ///   - asOf: makes the report as of an earlier moment. Later events are not in it, nor in its tree head.
    ///   - withTrays: adds the whole tray after each event.
    ///   - archives: all archives of the store's compactions. The report then also has the events that left the log,
    ///   from the first event on.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, `compacted` for `asOf`, `invalid`; failed, `notFound` when an
    ///   event is in no archive.
    /// - Complexity: O(events of the user and of the user's topics); 72 bytes of memory for each. With archives, O(log events
    ///   and archived ones); memory for the events of the user and the user's topics that left the log.
    public func auditReport(
        of user: String, from: Moment? = nil, to: Moment? = nil, asOf: Moment? = nil, withTrays: Bool = false,
        including archives: Archives? = nil
    ) async throws(TraylogError) -> AuditReport {
        try await asking(atLength: archives != nil) { store throws(TraylogError) in
            try store.auditReport(of: user, from: from, to: to, asOf: asOf, withTrays: withTrays, including: archives)
        }
    }

    /// A report without its tree head, which is hashed from the whole log as long as the tree is not stored.
    ///
    /// ```swift
    /// for step in try await store.auditSteps(of: "ann").steps { print(step.seq, step.after.unread) }
    /// ```
    ///
    /// - Returns: the first event that was looked at, the counts before it, and the steps.
    @_spi(Operations) public func auditSteps(
        of user: String, from: Moment? = nil, to: Moment? = nil
    ) async throws(TraylogError) -> (from: Seq, before: TrayCounts, steps: [AuditStep]) {
        try await asking { store throws(TraylogError) in try store.auditSteps(of: user, from: from, to: to) }
    }

    /// The events of some steps of a report.
    @_spi(Operations) public func entries(
        of report: AuditReport, _ range: Range<Int>, withProofs: Bool, disclosed: Bool = false
    ) async throws(TraylogError) -> [AuditEntry] {
        try await asking { store throws(TraylogError) in
            try store.entries(of: report, range, withProofs: withProofs, disclosed: disclosed)
        }
    }

    /// The events of steps, in the order of the steps.
    public func events(of steps: [AuditStep]) async throws(TraylogError) -> [Event] {
        try await asking { store throws(TraylogError) in try store.events(of: steps) }
    }

    /// Compares a user's tray right after one moment with the tray right after another.
    ///
    /// ```swift
    /// let difference = try await store.difference(of: "ann", from: .seq(100), to: .seq(200))
    /// print(difference.before.unread, difference.after.unread)
    /// ```
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - from: the earlier moment.
    ///   - to: the later moment; nil for now.
    ///   - limit: the largest number of items, and of steps, in the result: the newest ones; nil for all.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, `compacted`, and `invalid` (field `from`) when `from` is after `to`.
    /// - Complexity: O(the user's items + events in between). Each event that can touch all items, such as `traySeen`, costs
    ///   another O(the user's items).
    public func difference(
        of user: String, from: Moment, to: Moment? = nil, limit: Int? = nil
    ) async throws(TraylogError) -> TrayDifference {
        try await asking { store throws(TraylogError) in
            try store.difference(of: user, from: from, to: to, limit: limit)
        }
    }
}

extension Store {
    /// Stores the Merkle tree through the head, on a thread of the store.
    ///
    /// ```swift
    /// print(try await store.storeTree().root)
    /// ```
    @discardableResult
    @_spi(Operations) public func storeTree() async throws(TraylogError) -> TreeHead {
        try await queries.jobs.work { [blocking] (cancellation) throws(TraylogError) in
            try Cancellation.bind(cancellation) { () throws(TraylogError) in try blocking.storeTree() }
        }
    }
}

extension BlockingStore {
    /// Stores the Merkle tree through the head, so that tree heads and proofs need not hash the log again.
    ///
    /// It hashes events on the calling thread and one more. The writer stores a hash over each 256 events, 0.13 bytes for each
    /// event, in separate transactions between the groups. Nothing else waits for it.
    ///
    /// - Returns: the head of the tree over all events that were appended before the call.
    /// - Complexity: O(events since the last call).
    @available(*, noasync, message: "use `await store.storeTree`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func storeTree() throws(TraylogError) -> TreeHead {
        let head = try head()
        let writer = store.writer
        do {
            try queries.source.treeStorage.bring(through: head.rawValue) { try writer.write($0) }
        } catch {
            throw TraylogError(error, in: store.directory)
        }
        return try treeHead(asOf: .seq(head))
    }
}
