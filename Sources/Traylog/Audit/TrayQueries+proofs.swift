import TraylogAudit
import TraylogDomain
import TraylogLMDB

extension TrayQueries {
    /// Size and root of the Merkle tree over the log through a moment; without one, through the head.
    ///
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; refused `compacted` for a time below the floor. Seqs below it
    ///   have their tree heads for ever.
    /// - Complexity: O(log events) where the tree is stored (``Store/storeTree()``). Events after that are hashed, each
    ///   256 of them once for this store or reader.
    public func treeHead(asOf: Moment? = nil) throws(TraylogError) -> TreeHead {
        try queries.answer { source in
            let size = try source.treeSize(asOf)
            return try queries.nodes(through: size).head(of: size)
        }
    }

    /// The proof that an event is in the log as it was at a moment.
    ///
    /// An event that left the log is proved by the hash of its leaf: ``EventProof/leaf`` is nil then.
    ///
    /// - Throws: ``TraylogError``: refused `unknownEvent` for 0; refused `compacted` for a time below the floor;
    ///   refused `upToBeyondHead`.
    /// - Complexity: as ``treeHead(asOf:)``.
    public func proof(of seq: Seq, asOf: Moment? = nil) throws(TraylogError) -> EventProof {
        try queries.answer { source in
            let size = try source.treeSize(asOf)
            guard seq > .zero else { throw Refusal.unknownEvent(seq) }
            guard seq.rawValue <= size else { throw Refusal.upToBeyondHead(seq, head: Seq(size)) }
            return try queries.proof(of: seq, in: size, try queries.nodes(through: size))
        }
    }

    /// The proof that the log after `second` begins with all of the log after `first`.
    ///
    /// - Parameter second: the head, when it is nil.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, `compacted` as for ``treeHead(asOf:)``, and `invalid` (field
    ///   `old`) when `first` is after `second`.
    /// - Complexity: as ``treeHead(asOf:)``.
    public func treeGrowth(from first: Seq, to second: Seq? = nil) throws(TraylogError) -> TreeGrowth {
        try queries.answer { source in
            let size = try source.treeSize(second.map(Moment.seq))
            guard first.rawValue <= size else {
                guard let second else { throw Refusal.upToBeyondHead(first, head: Seq(size)) }
                throw Refusal.invalid(field: "old", reason: "\(first) is after \(second)")
            }
            let nodes = try queries.nodes(through: size)
            return TreeGrowth(
                first: try nodes.head(of: first.rawValue), second: try nodes.head(of: size),
                consistency: try nodes.consistencyProof(from: first.rawValue, to: size))
        }
    }
}

extension Queries {
    func nodes(through size: UInt64) throws -> LogNodes { try tree.nodes(through: size, source.treeStorage) }

    func proof(of seq: Seq, in size: UInt64, _ nodes: LogNodes) throws -> EventProof {
        let (index, log) = (seq.rawValue - 1, source.tables.log)
        let inclusion = try nodes.inclusionProof(ofLeaf: index, in: size)
        let head = try nodes.head(of: size)
        if let leaf = try source.environment.read({ try log.leaf(seq.rawValue, in: $0) }) {
            return EventProof(leaf: leaf, head: head, inclusion: inclusion)
        }
        return EventProof(leafHash: try nodes.node(level: 0, index: index), head: head, inclusion: inclusion)
    }
}

extension ViewSource {
    var treeStorage: TreeStorage { TreeStorage(environment: environment, table: tables.merkle, log: tables.log) }

    /// The tree knows no floor: of events that left the log it has the hashes.
    fileprivate func treeSize(_ moment: Moment?) throws -> UInt64 {
        guard case .seq(let seq)? = moment else { return try seq(of: moment) ?? head().rawValue }
        let head = try head()
        guard seq <= head else { throw Refusal.upToBeyondHead(seq, head: head) }
        return seq.rawValue
    }
}
