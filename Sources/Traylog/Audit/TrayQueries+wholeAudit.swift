import TraylogAudit
import TraylogChecks
@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// The report with what left the log.
    func wholeAudit(
        of user: String, from: Moment?, to: Moment?, asOf: Moment?, withTrays: Bool, including archives: Archives
    ) throws(TraylogError) -> AuditReport {
        let (past, size) = try queries.answer(.now, of: user) { now in
            (WholePast(of: now.stream, now.store.record), try now.store.seq(of: asOf))
        }
        var range = (first: UInt64(1), last: size)
        if case .seq(let seq)? = from { range.first = max(seq.rawValue, 1) }
        if case .seq(let seq)? = to { range.last = min(seq.rawValue, size) }
        var merged = try MergedLog(queries, archives, of: nil, from: 1, through: size)
        try queries.translatingErrors { _ in
            while let row = try merged.take() {
                try past.take(row)
                let time = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq).recordedAt
                if case .time(let least)? = from, time < least { range.first = row.seq + 1 }
                if case .time(let most)? = to, time > most { range.last = min(range.last, row.seq - 1) }
            }
            try past.finish(through: size)
        }
        let treeHead = try queries.treeHead(of: size)
        return try queries.answer(.past, of: user) { [range] now in
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
