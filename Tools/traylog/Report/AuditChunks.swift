import Traylog

/// The entries of a report, some at a time, so that a long one needs little memory.
struct AuditChunks {
    private static let entries = 1_000

    let reader: BlockingReader
    let report: AuditReport
    let withProofs: Bool
    private var next = 0

    init(reader: BlockingReader, report: AuditReport, withProofs: Bool) {
        self.reader = reader
        self.report = report
        self.withProofs = withProofs
    }

    /// - Returns: nil when there are no more.
    mutating func take() throws -> [AuditEntry]? {
        guard next < report.steps.count else { return nil }
        let end = min(next + Self.entries, report.steps.count)
        defer { next = end }
        return try reader.entries(of: report, next..<end, withProofs: withProofs)
    }
}
