import TraylogAudit
import TraylogDomain
import TraylogJSON
import TraylogLog

/// The events that touched one user's tray in a range of the log, and their effects.
///
/// A value, which later appends do not change. ``StoreProofs/events(of:)`` returns the events in full.
public struct AuditReport: Hashable, Sendable {
    /// The user whose tray the report is about.
    public var user: String
    /// The first event of the range.
    public var from: Seq
    /// The last event of the range.
    public var through: Seq
    /// The head of the log's tree.
    ///
    /// Every proof of the report leads to it.
    public var treeHead: TreeHead
    /// The counts before ``from``.
    public var before: TrayCounts
    /// The tray after ``through``.
    public var tray: Tray
    /// The events, in the order of the log.
    public var steps: [AuditStep]
    /// The steps' events that left the log, as an archive has them.
    package var archived: [Seq: LogRow] = [:]

    /// A report as ``StoreProofs/auditReport(of:from:to:asOf:withTrays:including:)`` makes it.
    package init(
        user: String, from: Seq, through: Seq, treeHead: TreeHead, before: TrayCounts, tray: Tray, steps: [AuditStep]
    ) {
        (self.user, self.from, self.through, self.treeHead) = (user, from, through, treeHead)
        (self.before, self.tray, self.steps) = (before, tray, steps)
    }
}

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

/// The salt and the payload of an event.
///
/// Its leaf commits to them: the last 32 bytes of the leaf are SHA-256(salt ‖ payload) (Docs/internals/format.md, "Leaf").
///
/// Give it only to those who may read the event: without the salt, the leaf reveals nothing.
public struct EventDisclosure: Hashable, Sendable {
    /// 16 bytes.
    public var salt: [UInt8]
    /// The Protocol Buffers message of Docs/internals/format/event.proto, as it is stored.
    public var payload: [UInt8]

    /// What an auditor needs beside a leaf: the salt of 16 bytes and the payload.
    package init(salt: [UInt8], payload: [UInt8]) {
        self.salt = salt
        self.payload = payload
    }
}

extension LogRow {
    /// Salt and payload; nil for an erased event.
    package var disclosure: EventDisclosure? {
        get throws {
            guard try EventLog.skeleton(seq, RawSpan(_elements: record.span)) == nil else { return nil }
            return try withPayload { header, payload in
                var bytes: [UInt8] = []
                bytes.append(copying: payload)
                return EventDisclosure(salt: header.salt.bytes, payload: bytes)
            }
        }
    }
}
