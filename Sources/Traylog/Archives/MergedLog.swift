import TraylogArchive
import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The log of a store and its archives as one run of events. An event that is in both is the log's, which may have been
/// erased since it was archived.
struct MergedLog {
    private let queries: Queries
    /// Only their events; nil for all.
    private let user: String?
    /// The user's; 0 when the store never heard of the user.
    private let stream: UInt32
    private let last: UInt64
    /// Events of the log below it may be missing.
    private let floor: UInt64
    private var archived: ArchiveSetCursor
    /// Of the log, the next ones: read in advance, so that no read transaction lives while archives are read.
    private var rows: ArraySlice<LogRow> = []
    /// The event of the log to go on with; behind `last` at its end.
    private var next: UInt64

    private static let rowsAtOnce = 256
    private static let bytesAtOnce = 1 << 18

    init(
        _ queries: Queries, _ archives: Archives, of user: String?, from first: UInt64, through last: UInt64
    ) throws(TraylogError) {
        self.queries = queries
        self.user = user
        self.last = last
        next = max(first, 1)
        (stream, floor) = try queries.answer { source in
            let floor = max(try source.statistics().floor.rawValue, archives.through)
            guard let user else { return (0, floor) }
            return (try source.view(of: user, at: nil).pages.stream, floor)
        }
        do {
            archived = try archives.contents.cursor(from: next)
        } catch {
            throw TraylogError(error, in: archives.directory)
        }
    }

    /// The next event; nil behind the last.
    mutating func take() throws -> LogRow? {
        guard user == nil || stream != 0 else { return nil }
        while true {
            if rows.isEmpty, next <= last { try readLog() }
            guard let seq = archived.seq, seq <= last, seq <= rows.first?.seq ?? last else { return rows.popFirst() }
            let isLogged = seq == rows.first?.seq
            let row = try isLogged ? nil : archived.withEvent { record, payload in try wanted(seq, record, payload) }
            try archived.advance()
            if let row { return row }
        }
    }

    /// The next events, at most `limit`.
    mutating func events(limit: Int) throws(TraylogError) -> [Event] {
        do {
            var events: [Event] = []
            while events.count < limit, let row = try take() { events.append(try row.event()) }
            return events
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
    }

    private func wanted(_ seq: UInt64, _ record: RawSpan, _ payload: RawSpan) throws -> LogRow? {
        if user != nil, try RecordHeader.read(record, seq: seq).stream != stream { return nil }
        return LogRow(seq: seq, record: record, payload: payload)
    }

    private mutating func readLog() throws {
        if let user {
            (rows, next) = try ownRows(of: user)
        } else {
            (rows, next) = try allRows()
        }
    }

    private func allRows() throws -> (ArraySlice<LogRow>, next: UInt64) {
        try queries.answer { source in
            var rows: [LogRow] = []
            var bytes = 0
            let log = source.tables.log
            let reached = try source.environment.read { transaction in
                try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                    guard seq <= last else { return false }
                    let row = try log.row(seq, record, in: transaction)
                    rows.append(row)
                    bytes += row.record.count + row.payload.count
                    return rows.count < Self.rowsAtOnce && bytes < Self.bytesAtOnce
                }
            }
            guard reached > next else { throw CodecError(.damaged, seq: next, "it is missing from the log") }
            return (rows[...], reached)
        }
    }

    /// The same, by the index of the user's own events.
    private func ownRows(of user: String) throws -> (ArraySlice<LogRow>, next: UInt64) {
        try queries.answer { source in
            let view = try source.view(of: user, at: nil)
            let seqs = try view.state.events(from: next, through: last, limit: Self.rowsAtOnce, stored: view.pages)
            let rows = try source.environment.read { transaction in
                try seqs.compactMap { try source.tables.log.row($0, in: transaction) }
            }
            let isEnd = seqs.count < Self.rowsAtOnce
            return (rows[...], isEnd ? last + 1 : (seqs.last ?? last) + 1)
        }
    }
}
