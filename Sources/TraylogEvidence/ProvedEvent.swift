import TraylogAudit
import TraylogDomain

/// An event that a file proves: by its number alone, by its leaf, which adds kind and times, or with its whole content.
@_spi(Operations) public struct ProvedEvent: Hashable, Sendable {
    /// The event's number.
    public let seq: Seq
    /// The event's kind; nil without a leaf, and for a kind that this version does not know.
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

    /// The event of a proof alone; nil for numbers that no log has.
    public init?(_ proof: EventProof) {
        guard proof.seq <= Seq.highest else { return nil }
        if let leaf = proof.leaf, (try? leaf.checkNumbers()) == nil { return nil }
        self.init(proof, nil)
    }
}
