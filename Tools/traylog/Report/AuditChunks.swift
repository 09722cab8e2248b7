@_spi(Operations) import Traylog

/// The entries of a report, some at a time, so that a long one needs little memory.
struct AuditChunks {
    private static let entries = 1_000

    let reader: BlockingReader
    let report: AuditReport
    let withProofs: Bool
    let disclosed: Bool
    private var next: Int
    private let end: Int

    /// - Parameter range: of the report's steps; nil for all.
    init(
        reader: BlockingReader, report: AuditReport, withProofs: Bool, disclosed: Bool = false, range: Range<Int>? = nil
    ) {
        self.reader = reader
        self.report = report
        self.withProofs = withProofs
        self.disclosed = disclosed
        next = range?.lowerBound ?? 0
        end = range?.upperBound ?? report.steps.count
    }

    /// - Returns: nil when there are no more.
    mutating func take() throws -> [AuditEntry]? {
        guard next < self.end else { return nil }
        let end = min(next + Self.entries, self.end)
        defer { next = end }
        return try reader.entries(of: report, next..<end, withProofs: withProofs, disclosed: disclosed)
    }
}
