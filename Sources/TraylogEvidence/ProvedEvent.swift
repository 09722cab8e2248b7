import TraylogAudit
import TraylogDomain

/// What a file proves of an event: its number, what its leaf says where that is there, and all that it says where that is disclosed.
@_spi(Operations) public struct ProvedEvent: Hashable, Sendable {
    /// The event's number.
    public let seq: Seq
    /// What it is; nil without a leaf, and for a kind that this version does not know.
    public let kind: EventKind?
    /// When the log recorded it; nil without a leaf.
    public let recordedAt: Timestamp?
    /// When it happened, as its sender claims.
    public let occurredAt: Timestamp?
    /// The whole event; nil where the file does not disclose it, or this version cannot read it.
    public let event: Event?

    init(_ proof: EventProof, _ event: Event?) {
        seq = Seq(proof.seq)
        kind = proof.leaf.flatMap { EventKind(code: $0.kind) }
        recordedAt = proof.leaf.map { Timestamp(milliseconds: $0.recordedAt) }
        occurredAt = proof.leaf?.occurredAt.map { Timestamp(milliseconds: $0) }
        self.event = event
    }

    /// What a proof alone proves; nil for numbers that no log has.
    public init?(_ proof: EventProof) {
        if let leaf = proof.leaf, (try? leaf.checkNumbers()) == nil { return nil }
        self.init(proof, nil)
    }
}
