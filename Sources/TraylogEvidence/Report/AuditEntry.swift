import TraylogAudit
import TraylogDomain

/// A step with its event, and the proof that the event is in the log.
@_spi(Operations) public struct AuditEntry: Hashable, Sendable {
    /// The event and its effect on the counts.
    public var step: AuditStep
    /// The event itself.
    public var event: Event
    /// Leads to the report's tree head; nil unless proofs were asked for.
    public var proof: EventProof?
    /// The salt and the payload that the proof's leaf commits to; nil unless it was asked for.
    public var disclosure: EventDisclosure?

    /// A step with its event, and the proof and payload that were asked for.
    public init(step: AuditStep, event: Event, proof: EventProof? = nil, disclosure: EventDisclosure? = nil) {
        self.step = step
        self.event = event
        self.proof = proof
        self.disclosure = disclosure
    }
}

/// One event that touched a user's tray, and its effect on the counts.
public struct AuditStep: Hashable, Sendable, Codable {
    /// The user's own event, or one of a topic that changed the user's tray.
    public var seq: Seq
    /// The counts before it.
    public var before: TrayCounts
    /// The counts after it.
    public var after: TrayCounts
    /// The tray right after the event; nil unless trays were asked for.
    public var tray: Tray?

    /// Makes a step without a tray.
    package init(seq: Seq, before: TrayCounts = TrayCounts(), after: TrayCounts = TrayCounts()) {
        self.seq = seq
        self.before = before
        self.after = after
    }
}

/// The counts of a tray at one moment.
public struct TrayCounts: Hashable, Sendable, Decodable {
    /// Items that count and are not seen.
    public var unseen = 0
    /// Items that count and are not read.
    public var unread = 0
    /// Listed items.
    public var total = 0

    /// Those of an empty tray.
    package init() {}

    package init(_ state: borrowing TrayState) {
        unseen = Int(clamping: state.unseen)
        unread = Int(clamping: state.unread)
        total = Int(clamping: state.total)
    }
}
