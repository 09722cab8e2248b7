import TraylogArchive
import TraylogAudit
@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogRewrite
import TraylogStates
import TraylogTree

/// Writes the log of a store to an archive of segments, from where the archive ends.
///
/// It reads the store like any other reader. It keeps the events of one segment in memory, so a kill at any moment leaves whole
/// segments, and the next run goes on after them. After an error it looks at the archive anew. For one thread at a time.
struct LogArchiver {
    private let queries: Queries
    private let segments: SegmentDirectory
    /// Where the segments are.
    var directory: SegmentDirectory { segments }
    private let options: ArchiveOptions
    private let onFile: (Archives.File) -> Void
    /// Nobody else adds segments as long as it is held.
    private let lock: SegmentLock
    /// Nil before the first look at the archive, and after an error.
    private var run: Run?

    /// What is known of the archive, and the events of its next segment.
    private struct Run {
        let record: StoreRecord
        /// The tree through the last archived event.
        var tree: MerkleAccumulator
        /// The last event to archive; later ones are there already.
        let end: UInt64
        var rows: [LogRow] = []
        var bytes = 0
        /// When the first of the rows was read, by the monotonic clock.
        var since: Int64 = 0
        /// Reads what left the log.
        var merged: MergedLog?

        var next: UInt64 { tree.size + UInt64(rows.count) + 1 }
    }

    /// How far it is.
    struct Progress: Sendable {
        /// The last archived event.
        var through: UInt64
        /// Until the events that wait have to be in a segment; nil when none wait.
        var millisecondsLeft: Int64? = nil
    }

    /// Prepares the directory, and notes in the store that it is archived there, so that erasures reach it.
    ///
    /// - Throws: ``ArchiveError`` `busy` while another process archives there, `unusableDirectory`, `permissionDenied`.
    init(
        _ queries: Queries, to directory: String, _ options: ArchiveOptions, onFile: @escaping (Archives.File) -> Void
    ) throws {
        guard !directory.isEmpty else {
            throw ArchiveError(.unusableDirectory, path: "\"\"", "the name of the directory is empty")
        }
        let (path, store) = (Files.absolutePath(of: directory), queries.source.directory)
        guard path != store, !path.hasPrefix(store + "/") else {
            throw ArchiveError(
                .unusableDirectory, path: directory, "an archive inside of the store would be lost with it")
        }
        (self.queries, self.options, self.onFile) = (queries, options, onFile)
        segments = SegmentDirectory(path)
        // Create nothing for a store that cannot be read.
        _ = try queries.head()
        lock = try segments.claim()
        try ArchivePlaces.note(path, in: store)
    }

    /// Reads what the log has by now, and writes the segments that are full or due.
    ///
    /// - Parameters:
    ///   - closes: writes the last segment in any case.
    ///   - isOver: asked now and then whether to stop before the head.
    /// - Throws: ``ArchiveError``: `diverged`, `otherStore`, `damaged`, `diskFull`; ``StoreFailure`` `notFound` for events that left
    ///   the log before they were archived; what reading throws.
    mutating func step(closes: Bool, isOver: () -> Bool = { false }) throws -> Progress {
        while true {
            guard var run = try self.run ?? begin() else { return Progress(through: try queries.head()) }
            // Until this step is done; after an error the next one begins anew.
            self.run = nil
            guard let progress = try step(&run, closes: closes, isOver) else { continue }
            self.run = run
            return progress
        }
    }

    /// - Returns: nil when the run is over, because the store or the archive is not as it was when it began.
    private func step(_ run: inout Run, closes: Bool, _ isOver: () -> Bool) throws -> Progress? {
        while true {
            guard let rows = try rows(&run) else { return nil }
            for row in rows {
                let history = run.record.history
                if let first = run.rows.first?.seq, history.id(at: Seq(first)) != history.id(at: Seq(row.seq)) {
                    guard try close(&run) else { return nil }
                }
                if run.rows.isEmpty { run.since = SystemClock.monotonicNanoseconds() }
                run.rows.append(row)
                run.bytes += row.record.count + row.payload.count
                if run.bytes >= options.bytes { guard try close(&run) else { return nil } }
            }
            if run.next > run.end {
                guard try close(&run) else { return nil }
                return nil
            }
            guard rows.isEmpty || isOver() else { continue }
            guard !run.rows.isEmpty else { return Progress(through: run.tree.size) }
            let age = (SystemClock.monotonicNanoseconds() - run.since) / 1_000_000
            // Less a tenth, for the writing.
            let left = options.milliseconds - options.milliseconds / 10 - age
            guard closes || left <= 0 else { return Progress(through: run.tree.size, millisecondsLeft: left) }
            guard try close(&run) else { return nil }
        }
    }
}

extension ArchivePlaces {
    /// Adds a directory, so that erasures reach it.
    static func note(_ directory: String, in store: String) throws(StoreFailure) {
        do throws(SystemError) {
            try add(directory, in: store)
        } catch {
            throw StoreFailure(
                code: error == .accessDenied || error == .notPermitted || error == .readOnlyFileSystem
                    ? .permissionDenied : .inputOutput,
                message:
                    "\(store)/\(fileName): the directory of the archive has to be noted there, so that erasures reach "
                    + "it (\(error)); run as the owner of the store", path: store)
        }
    }
}

// MARK: The archive

extension LogArchiver {
    /// Looks at the archive, and makes sure that the store goes on from its last event.
    ///
    /// - Returns: nil where the archive has all of the store and more: the store was restored to an earlier event, and begins a history
    ///   of its own with its next one.
    private func begin() throws -> Run? {
        let (record, head) = try queries.answer { ($0.record, $0.head) }
        let names = try segments.segments()
        let chain = SegmentChain(names, of: record.history)
        if let name = chain.links.first?.name ?? names.first { _ = try open(name, of: record) }
        let through = chain.through
        guard through <= head else { return nil }
        let tree = try queries.translatingErrors { _ in try queries.nodes(through: head).accumulator(of: through) }
        if let link = chain.links.last, link.last == link.name.last {
            let end = try open(link.name, of: record)
            guard end.rootAfter == tree.head.root else {
                throw ArchiveError(
                    .diverged, path: segments.path(of: link.name),
                    "through event \(through) the store has other events than the archive; somebody put back an older copy of the "
                        + "store, or changed the archive")
            }
        }
        return Run(record: record, tree: tree, end: chain.gap?.upperBound ?? .max)
    }

    private func open(_ name: SegmentName, of record: StoreRecord) throws(ArchiveError) -> SegmentEnd {
        let (reader, end) = try segments.open(name)
        guard reader.summary.header.store == record.identity else {
            throw ArchiveError(.otherStore, path: reader.path, "it has events of another store")
        }
        return end
    }

    /// Writes the rows as a segment.
    ///
    /// - Returns: false, and nothing is written, when somebody was erased or the store was replaced since the rows were read.
    private func close(_ run: inout Run) throws -> Bool {
        guard let first = run.rows.first, let last = run.rows.last else { return true }
        var tree = run.tree
        for row in run.rows { tree.append(leafHash: try row.leaf().hash) }
        let history = StoreHistory(run.record.history.forks.filter { UInt64($0.after) < first.seq }) ?? StoreHistory()
        let name = SegmentName(first: first.seq, last: last.seq, history: history.forks.last?.id ?? 0)
        let end = SegmentEnd(
            rootBefore: run.tree.head.root, rootAfter: tree.head.root, firstAt: try first.recordedAt,
            lastAt: try last.recordedAt, hasher: run.record.hasher, landmarkDistance: run.record.landmarkDistance,
            erasures: run.record.erased, history: history)
        let record = run.record
        let rows = run.rows
        let file: Archives.File? = try segments.exclusively {
            // An erasure looks at the segments once more when it has changed the log.
            let now = try queries.answer { $0.record }
            guard now.history == record.history, now.erased == record.erased else { return nil }
            try forgetErased(in: rows, of: record)
            return Archives.File(try segments.write(name, store: record.identity, end, rows))
        }
        guard let file else { return false }
        (run.tree, run.rows, run.bytes) = (tree, [], 0)
        onFile(file)
        return true
    }

    /// Takes the content of people out of the segments before the event that says that they were erased is archived: the
    /// erasure may have been killed before it came to that.
    private func forgetErased(in rows: [LogRow], of record: StoreRecord) throws {
        var streams: Set<StreamID> = []
        for row in rows {
            let header = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq)
            if header.kind == .erased { streams.insert(header.stream) }
        }
        guard !streams.isEmpty else { return }
        _ = try segments.rewrite(
            of: record.identity, where: { _, end in end.erasures < record.erased },
            isConcerned: { seq, bytes in
                let header = try RecordHeader.read(bytes, seq: seq)
                return streams.contains(header.stream) && header.hasContent(of: header.stream)
            },
            replacement: { seq, bytes, payload in
                let header = try RecordHeader.read(bytes, seq: seq)
                guard streams.contains(header.stream), header.hasContent(of: header.stream) else { return nil }
                return try EventLog.erasedRecord(seq, bytes, payload, ifOf: header.stream)
            })
    }
}

extension LogRow {
    fileprivate var recordedAt: Timestamp {
        get throws { try RecordHeader.read(RawSpan(_elements: record.span), seq: seq).recordedAt }
    }
}

// MARK: The log

extension LogArchiver {
    private static let rowsAtOnce = 2_000
    private static let bytesAtOnce = 1 << 20

    /// The next events; none at the head.
    ///
    /// - Returns: nil when somebody was erased, or the store was replaced, since the run began.
    private func rows(_ run: inout Run) throws -> [LogRow]? {
        if run.merged != nil { return try mergedRows(&run) }
        let (record, next, end) = (run.record, run.next, run.end)
        guard next <= end else { return [] }
        let found: (rows: [LogRow], head: UInt64)? = try queries.answer { store in
            guard store.record.history == record.history, store.record.erased == record.erased else { return nil }
            var (rows, bytes): ([LogRow], Int) = ([], 0)
            let last = min(end, store.head)
            guard next <= last else { return ([], store.head) }
            let (log, floor) = (store.tables.log.events, store.record.floor.seq.rawValue)
            try store.read { transaction in
                _ = try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, bytesOfRecord in
                    guard seq <= last, seq == next + UInt64(rows.count) else { return false }
                    let row = try log.row(seq, bytesOfRecord, in: transaction)
                    rows.append(row)
                    bytes += row.record.count + row.payload.count
                    return rows.count < Self.rowsAtOnce && bytes < Self.bytesAtOnce
                }
            }
            return (rows, store.head)
        }
        guard let found else { return nil }
        guard found.rows.isEmpty, next <= min(end, found.head) else { return found.rows }
        try readArchives(&run, through: min(end, found.head))
        return try mergedRows(&run)
    }

    /// Goes on with what compactions wrote to the archive's directory.
    private func readArchives(_ run: inout Run, through last: UInt64) throws {
        let archives: Archives
        do {
            archives = try Archives(segments.path, of: run.record)
        } catch let error as ArchiveError where error.code == .noArchives {
            throw missing(run.next)
        }
        run.merged = try MergedLog(queries, archives, of: nil, from: run.next, through: last)
    }

    private func mergedRows(_ run: inout Run) throws -> [LogRow] {
        var (rows, bytes): ([LogRow], Int) = ([], 0)
        while rows.count < Self.rowsAtOnce, bytes < Self.bytesAtOnce {
            guard let row = try run.merged?.take() else {
                run.merged = nil
                break
            }
            guard row.seq == run.next + UInt64(rows.count) else { throw missing(run.next + UInt64(rows.count)) }
            rows.append(row)
            bytes += row.record.count + row.payload.count
        }
        return rows
    }

    private func missing(_ seq: UInt64) -> StoreFailure {
        StoreFailure(
            code: .notFound,
            message:
                "event \(seq) left the log in a compaction before it was archived: put the archives that `traylog compact --archive` "
                + "wrote into \(segments.path), or run `traylog archive` before compactions", path: segments.path)
    }
}

extension Queries {
    fileprivate func head() throws -> UInt64 { try answer { $0.head } }
}
