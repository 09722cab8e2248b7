import TraylogAudit
import TraylogDomain
@_spi(Operations) import TraylogEvidence
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
    @available(*, noasync, message: "use `await store.proofs.treeHead`; this call blocks a thread that tasks share")
    @_spi(Operations) public func treeHead(asOf: Moment? = nil) throws(TraylogError) -> TreeHead {
        let size = try queries.treeSize(asOf)
        return try queries.treeHead(of: size)
    }

    /// The tree over the log through the head, which can be extended by later records (``MerkleAccumulator/append(_:)``).
    ///
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(
        *, noasync, message: "use `await store.proofs.treeAccumulator`; this call blocks a thread that tasks share"
    )
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
    @available(*, noasync, message: "use `await store.proofs.proof`; this call blocks a thread that tasks share")
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
    ///   `first`) when `first` is after `second`.
    /// - Complexity: as for ``treeHead(asOf:)``.
    @available(*, noasync, message: "use `await store.proofs.treeGrowth`; this call blocks a thread that tasks share")
    @_spi(Operations) public func treeGrowth(from first: Seq, to second: Seq? = nil) throws(TraylogError) -> TreeGrowth
    {
        let size = try queries.treeSize(second.map(Moment.seq))
        return try queries.prove(through: size) { nodes in
            guard first.rawValue <= size else {
                guard let second else { throw Refusal.upToBeyondHead(first, head: Seq(size), field: "first") }
                throw Refusal.invalid(field: "first", reason: "\(first) is after \(second)")
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
    @available(*, noasync, message: "use `await store.proofs.treeHead`; this call blocks a thread that tasks share")
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

// The tree is read in transactions of its own, some of them on another thread: no leaf of it ever changes.
extension Queries {
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
