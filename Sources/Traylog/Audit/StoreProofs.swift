@_spi(Operations) import TraylogChecks
import TraylogAudit
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogQueries

/// The proofs of a store, and its record of who did what: for auditors, and for disputes about a tray.
///
/// ```swift
/// let report = try await store.proofs.auditReport(of: "ann")
/// print("\(report.steps.count) steps, proved by \(report.treeHead.root)")
/// ```
///
/// `store.proofs` and `reader.proofs` have it. `TraylogAudit` checks proofs without a store.
public struct StoreProofs: Sendable {
    let store: any TrayQueries
}

extension TrayQueries {
    /// Tree heads, proofs, and reports about a user's tray.
    public var proofs: StoreProofs { StoreProofs(store: self) }
}

extension StoreProofs {
    /// Size and root of the Merkle tree over the log through a moment, or through the head.
    ///
    /// ```swift
    /// let head = try await store.proofs.treeHead()
    /// print(head.size, head.root)
    /// ```
    public func treeHead(asOf: Moment? = nil) async throws(TraylogError) -> TreeHead {
        try await store.asking { store throws(TraylogError) in try store.treeHead(asOf: asOf) }
    }

    /// The tree over the log through the head, which can be extended by later records (``MerkleAccumulator/append(_:)``).
    ///
    /// - Complexity: as for `treeHead(asOf:)`.
    @_spi(Operations) public func treeAccumulator() async throws(TraylogError) -> MerkleAccumulator {
        try await store.asking(atLength: true) { store throws(TraylogError) in try store.queries.treeAccumulator() }
    }

    /// How many events the stored tree covers; the others are hashed when somebody asks for a tree head or a proof.
    @_spi(Operations) public func storedTreeSize() async throws(TraylogError) -> UInt64 {
        try await store.asking { store throws(TraylogError) in try store.queries.storedTreeSize() }
    }

    /// The proof that an event is in the log as it was at a moment.
    ///
    /// ```swift
    /// let proof = try await store.proofs.proof(of: 17)
    /// print(proof.inclusion.proves(proof.leafHash, in: proof.head))
    /// ```
    public func proof(of seq: Seq, asOf: Moment? = nil) async throws(TraylogError) -> EventProof {
        try await store.asking { store throws(TraylogError) in try store.proof(of: seq, asOf: asOf) }
    }

    /// The proof that the log after `second` begins with all of the log after `first`.
    ///
    /// ```swift
    /// let growth = try await store.proofs.treeGrowth(from: 1_000)
    /// print(growth.consistency.proves(from: growth.first, to: growth.second))
    /// ```
    public func treeGrowth(from first: Seq, to second: Seq? = nil) async throws(TraylogError) -> TreeGrowth {
        try await store.asking { store throws(TraylogError) in try store.treeGrowth(from: first, to: second) }
    }

    /// Every event that touched a user's tray, with its effect on the counts: the user's own events, and those of topics
    /// that reached the user.
    ///
    /// ```swift
    /// let report = try await store.proofs.auditReport(of: "ann", from: .time(.now - .seconds(86_400)))
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
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.auditReport(of: user, from: from, to: to, asOf: asOf, withTrays: withTrays, including: archives)
        }
    }

    /// A report without its tree head, which is hashed from the whole log as long as the tree is not stored.
    ///
    /// ```swift
    /// for step in try await store.proofs.auditSteps(of: "ann").steps { print(step.seq, step.after.unread) }
    /// ```
    ///
    /// - Returns: the first event that was looked at, the counts before it, and the steps.
    @_spi(Operations) public func auditSteps(
        of user: String, from: Moment? = nil, to: Moment? = nil
    ) async throws(TraylogError) -> (from: Seq, before: TrayCounts, steps: [AuditStep]) {
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.auditSteps(of: user, from: from, to: to)
        }
    }

    /// The events of some steps of a report.
    @_spi(Operations) public func entries(
        of report: AuditReport, _ range: Range<Int>, withProofs: Bool, disclosed: Bool = false
    ) async throws(TraylogError) -> [AuditEntry] {
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.entries(of: report, range, withProofs: withProofs, disclosed: disclosed)
        }
    }

    /// The events of steps, in the order of the steps.
    public func events(of steps: [AuditStep]) async throws(TraylogError) -> [Event] {
        try await store.asking { store throws(TraylogError) in try store.events(of: steps) }
    }

    /// Compares a user's tray right after one moment with the tray right after another.
    ///
    /// ```swift
    /// let difference = try await store.proofs.difference(of: "ann", from: .seq(100), to: .seq(200))
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
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.difference(of: user, from: from, to: to, limit: limit)
        }
    }
}

@_spi(Operations) extension StoreProofs {
    /// A tree head with a checkpoint that others have seen, for a file that shows by itself which log it is about.
    public func treeHead(_ head: TreeHead, seenIn note: SignedNote?) async throws(TraylogError) -> KeptTreeHead {
        try await store.asking { store throws(TraylogError) in try store.treeHead(head, seenIn: note) }
    }
}
