import TraylogAudit
import TraylogDomain

// Proofs and reports again for tasks: they are made on threads of the store, and the task sleeps meanwhile.

extension TrayQueries {
    /// Size and root of the Merkle tree over the log through a moment; without one, through the head.
    public func treeHead(asOf: Moment? = nil) async throws(TraylogError) -> TreeHead {
        try await asking { store throws(TraylogError) in try store.treeHead(asOf: asOf) }
    }

    /// The proof that an event is in the log as it was at a moment.
    public func proof(of seq: Seq, asOf: Moment? = nil) async throws(TraylogError) -> EventProof {
        try await asking { store throws(TraylogError) in try store.proof(of: seq, asOf: asOf) }
    }

    /// The proof that the log after `second` begins with all of the log after `first`.
    public func treeGrowth(from first: Seq, to second: Seq? = nil) async throws(TraylogError) -> TreeGrowth {
        try await asking { store throws(TraylogError) in try store.treeGrowth(from: first, to: second) }
    }

    /// Every event that touched a user's tray, with what each did to the counts.
    public func audit(
        of user: String, from: Moment? = nil, to: Moment? = nil, asOf: Moment? = nil, withTrays: Bool = false
    ) async throws(TraylogError) -> AuditReport {
        try await asking { store throws(TraylogError) in
            try store.audit(of: user, from: from, to: to, asOf: asOf, withTrays: withTrays)
        }
    }

    /// The events of some steps of a report.
    public func entries(
        of report: AuditReport, _ range: Range<Int>, withProofs: Bool
    ) async throws(TraylogError) -> [AuditEntry] {
        try await asking { store throws(TraylogError) in
            try store.entries(of: report, range, withProofs: withProofs)
        }
    }

    /// What changed in a user's tray from right after one moment to right after another.
    public func difference(
        of user: String, from: Moment, to: Moment? = nil
    ) async throws(TraylogError) -> TrayDifference {
        try await asking { store throws(TraylogError) in try store.difference(of: user, from: from, to: to) }
    }
}

extension Store {
    /// Stores the Merkle tree through the head, on a thread of the store.
    @discardableResult
    public func storeTree() async throws(TraylogError) -> TreeHead {
        try await queries.pool.run { [self] () throws(TraylogError) in try storeTree() }
    }
}
