import TraylogArchive
import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// The log of a store and its archives as one run of events.
///
/// If both have an event, the log's version counts, because the event may have been erased since it was archived.
struct MergedLog {
    private let queries: Queries
    /// The user whose own events are read; nil for all events.
    private let user: String?
    /// The user's stream; 0 for an unknown user.
    private let stream: StreamID
    private let last: UInt64
    /// The store's floor when the archives were opened.
    ///
    /// They have the events that left the log before.
    private var floor: Floor
    private var archives: Archives
    private var archived: ArchiveSetCursor
    /// The next events of the log, read in advance, so that no read transaction is open while archives are read.
    private var rows: ArraySlice<LogRow> = []
    /// The next event of the log to read; above `last` at the end.
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
        self.archives = archives
        if let user {
            (stream, floor) = try queries.answer(.now, of: user) { ($0.stream, $0.store.record.floor) }
        } else {
            (stream, floor) = (.absent, try queries.answer { $0.record.floor })
        }
        do {
            archived = try archives.contents.cursor(from: next)
            // A compaction since they were opened has made another archive.
            if floor.seq.rawValue > archives.through { try openArchives() }
        } catch {
            throw TraylogError(error, in: archives.directory)
        }
    }

    /// Opens the archives again.
    ///
    /// If the newest one is not there, its events are missing like those never archived.
    private mutating func openArchives() throws {
        let (record, directory) = (try queries.answer { $0.record }, archives.directory)
        archives = try Archives(directory, of: record)
        archived = try archives.contents.cursor(from: next)
    }

    /// The next event; nil after the last.
    mutating func take() throws -> LogRow? {
        guard user == nil || stream != .absent else { return nil }
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
        while true {
            try Cancellation.checkCurrent()
            let part = try user.map { try ownRows(of: $0) } ?? allRows()
            guard part.floor != floor else {
                (rows, next) = (part.rows[...], part.next)
                return
            }
            // The floor has moved: some of the events may be in a new archive by now.
            floor = part.floor
            try openArchives()
        }
    }

    /// Events of the log that follow on each other, the seq to go on with, and the floor of the store that had them.
    private typealias Part = (rows: [LogRow], next: UInt64, floor: Floor)

    private func allRows() throws -> Part {
        try queries.answer { store in
            var rows: [LogRow] = []
            var bytes = 0
            let log = store.tables.log.events
            let floor = max(store.record.floor.seq.rawValue, archives.through)
            let reached = try store.read { transaction in
                try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                    guard seq <= last else { return false }
                    let row = try log.row(seq, record, in: transaction)
                    rows.append(row)
                    bytes += row.record.count + row.payload.count
                    return rows.count < Self.rowsAtOnce && bytes < Self.bytesAtOnce
                }
            }
            guard reached > next else { throw CodecError(.damaged, seq: next, "it is missing from the log") }
            return (rows, reached, store.record.floor)
        }
    }

    /// Reads the next events of the user, by the index of the user's own events.
    private func ownRows(of user: String) throws -> Part {
        try queries.answer(.now, of: user) { now in
            let seqs = try now.state.events(from: next, through: last, limit: Self.rowsAtOnce, stored: now.pages)
            let rows = try now.store.read { transaction in
                try seqs.compactMap { try now.store.tables.log.events.row($0, in: transaction) }
            }
            let isEnd = seqs.count < Self.rowsAtOnce
            return (rows, isEnd ? last + 1 : (seqs.last ?? last) + 1, now.store.record.floor)
        }
    }
}
