import TraylogAudit
import TraylogDomain

/// Who did what to one user's tray, from when to when, and what it changed.
///
/// A value: it stays what it was, whatever is appended later. ``TrayQueries/entries(of:_:withProofs:)`` gives the events
/// with all that they hold.
public struct AuditReport: Hashable, Sendable {
    public var user: String
    /// The first event that was looked at.
    public var from: Seq
    /// The last one.
    public var through: Seq
    /// Of the log that the report is about; every proof leads to it.
    public var treeHead: TreeHead
    /// The counts before ``from``.
    public var before: TrayCounts
    /// The tray after ``through``.
    public var tray: Tray
    /// In the order of the log.
    public var steps: [AuditStep]
}

/// A step with its event, and the proof that the event is in the log.
public struct AuditEntry: Hashable, Sendable {
    public var step: AuditStep
    public var event: Event
    /// Leads to the report's tree head; nil unless it was asked for.
    public var proof: EventProof?

    public init(step: AuditStep, event: Event, proof: EventProof? = nil) {
        self.step = step
        self.event = event
        self.proof = proof
    }
}
