import TraylogAudit
import TraylogChecks
@_spi(Replication) import TraylogDomain
import TraylogEvidence
import TraylogLog
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// All that a user's state was folded from, with what left the log, and the last event of it.
    ///
    /// - Parameter look: is given each event of the store, in order.
    func wholePast(
        of user: String, asOf: Moment?, including archives: Archives, _ look: (LogRow) throws -> Void = { _ in }
    ) throws(TraylogError) -> (past: WholePast, end: UInt64) {
        let (past, end) = try queries.answer(.now, of: user) { now in
            (WholePast(of: now.stream, now.store.record), try now.store.seq(of: asOf))
        }
        var merged = try MergedLog(queries, archives, of: nil, from: 1, through: end)
        try queries.translatingErrors { _ in
            while let row = try merged.take() {
                try past.take(row)
                try look(row)
            }
            try past.finish(through: end)
        }
        return (past, end)
    }

    /// The report with what left the log.
    func wholeAudit(
        of user: String, from: Moment?, to: Moment?, asOf: Moment?, withTrays: Bool, including archives: Archives
    ) throws(TraylogError) -> AuditReport {
        var first: UInt64 = 1
        if case .seq(let seq)? = from { first = max(seq.rawValue, 1) }
        var last = UInt64.max
        if case .seq(let seq)? = to { last = seq.rawValue }
        let (past, size) = try wholePast(of: user, asOf: asOf, including: archives) { row in
            let time = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq).recordedAt
            if case .time(let least)? = from, time < least { first = row.seq + 1 }
            if case .time(let most)? = to, time > most { last = min(last, row.seq - 1) }
        }
        let range = (first: first, last: min(last, size))
        let treeHead = try queries.treeHead(of: size)
        return try queries.answer(.past, of: user) { now in
            if case .seq(let seq)? = to, seq > Seq(now.store.head) {
                throw Refusal.upToBeyondHead(seq, head: Seq(now.store.head), field: "to")
            }
            if case .seq(let from)? = from, case .seq(let to)? = to, from > to {
                throw Refusal.invalid(field: "from", reason: "is after the later moment")
            }
            let (last, start) = (range.last, min(range.first - 1, range.last))
            let (steps, state, tray) = try past.reading(now.store) {
                let (steps, state) = try AuditReport.steps(from: TrayState(), user, withTrays ? past : nil) {
                    try past.run(through: last, $0)
                }
                return (steps, state, try state.tray(of: user, asOf: Seq(last), source: past))
            }
            if last >= now.store.record.floor.seq.rawValue, try now.at(last).tray() != tray {
                throw StoreFailure.unequalFolds
            }
            let shown = steps.drop { $0.seq.rawValue <= start }
            var report = AuditReport(
                user: user, from: Seq(start + 1), through: Seq(last), treeHead: treeHead,
                before: shown.first?.before ?? TrayCounts(state), tray: tray, steps: Array(shown))
            for seq in report.steps.map(\.seq) where try !now.store.holds(seq.rawValue) {
                report.archived[seq] = past.rows[seq.rawValue]
            }
            return report
        }
    }
}
