import TraylogAudit
import TraylogDomain
import TraylogEvidence
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
