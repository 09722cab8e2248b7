import TraylogChecks
@_spi(Replication) import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogRewrite
import TraylogStates

/// Restores the log of an export byte for byte, line by line, in a store that is missing or empty.
///
/// Then it derives the states from the log.
///
/// Until the restore is finished the store is marked as unfinished, and cannot be opened. A restore replaces the remains of an
/// earlier one that failed or was killed. For one thread.
///
/// ```swift
/// let restore = try LogRestore(directory: path)
/// for line in lines { try restore.add(line.utf8Span.span) }
/// let report = try restore.finish { _, _ in }
/// ```
@_spi(Operations) public final class LogRestore {
    private let directory: String
    private let options: StoreOptions
    /// The moment to restore; nil for the end of the export.
    private let moment: Moment?
    /// Whether all events up to the moment are there, so that no further line is needed.
    ///
    /// Always false without a moment.
    public private(set) var isComplete = false
    /// Nil for a missing store until there is something to store.
    private var environment: Environment?
    private var hasBegun = false
    private var record: StoreRecord
    private var batch = RecordBatch(firstSeq: 1)
    private var streams: RestoredStreams
    private var newest = Timestamp(milliseconds: .min)
    /// Missing events before the first one that is there, which wait for its time.
    private var leading: UInt64 = 0
    private var report = RestoreReport(events: 0, head: 0)
    /// The last event of the export, according to the last line read.
    private var last = Seq.zero
    private var writer = JSONWriter()
    /// The record of the store whose archive is restored; nil for an export, which makes another store.
    private var origin: StoreRecord?
    /// Streams that an archive has without content.
    private var erasedStreams: Set<StreamID> = []

    // The size of one transaction. It frees few pages, however many it takes.
    private static let eventsAtOnce = 2_048
    private static let bytesAtOnce = 4 << 20
    /// The same for what comes from an archive.
    private static let archivedBytesAtOnce = 16 << 20

    /// Opens the store if it exists.
    ///
    /// - Parameter moment: restores the store as it was then; nil for all events of the export.
    /// - Throws: ``TraylogError/failed(_:)``: `unusableTarget` when it has events; the errors of opening a store.
    public init(
        directory: String, options: StoreOptions = StoreOptions(), through moment: Moment? = nil
    ) throws(TraylogError) {
        self.directory = directory
        self.options = options
        self.moment = moment
        isComplete = moment == .seq(.zero)
        record = .new()
        record.landmarkDistance = options.landmarkDistance
        streams = RestoredStreams(hasher: record.hasher)
        do {
            environment = try open(creates: false)
            try checkTarget()
        } catch let error as LMDBError where error.code == .notFound {
            environment = nil
        } catch {
            environment?.close()
            throw TraylogError(error, in: directory)
        }
    }

    deinit {
        close()
    }

    /// Closes the store.
    ///
    /// Without ``finish(progress:)`` it stays unfinished, unless nothing was stored.
    public func close() {
        environment?.close()
    }

    /// Checks a line, and adds its event to the log; for a line that says that its event is missing, a ``Event/Body/lost``.
    ///
    /// Once the restore ``isComplete``, lines are ignored.
    ///
    /// - Parameter line: a line without its newline.
    /// - Throws: ``TraylogError/refused(_:)`` with `invalid` for a line that is not the next one of an export; then no
    ///   later line may be added. ``TraylogError/failed(_:)`` when writing fails, with `diskFull` for example.
    public func add(_ line: Span<UInt8>) throws(TraylogError) {
        guard !isComplete else { return }
        do {
            switch try ExportedLine.read(line, writer: &writer) {
            case .event(let exported):
                try check(exported)
                if case .time(let time)? = moment, exported.event.recordedAt > time {
                    isComplete = true
                    return
                }
                // The first events in the export give the latest possible time of those before them.
                appendLost(leading, at: exported.event.recordedAt)
                leading = 0
                try append(exported)
                last = exported.stored.last
            case .gap(let seq, let reason, let last):
                try checkNext(seq, last: last)
                switch reason {
                case .damaged: report.lost.extend(by: seq.rawValue)
                case .erased: report.erased.extend(by: seq.rawValue)
                case .compacted: report.compacted.extend(by: seq.rawValue)
                }
                streams.noteGap()
                self.last = last
                if newest.milliseconds == .min { leading += 1 } else { appendLost(1, at: newest) }
            }
            if moment == .seq(Seq(batch.nextSeq + leading - 1)) { isComplete = true }
            if batch.count >= Self.eventsAtOnce || batch.byteCount >= Self.bytesAtOnce { try flush() }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    /// Makes the store a copy of the one with this record: it has the same identity, and begins a history of its own with its
    /// next event; before the first event.
    func become(_ origin: StoreRecord) { self.origin = origin }

    /// The histories of the store that this becomes a copy of, as the archive knows them by now.
    func note(_ history: StoreHistory) { origin?.history = history }

    /// The newest event that was added.
    var head: UInt64 { batch.nextSeq - 1 }

    /// Adds the next event as an archive has it, after checking it.
    ///
    /// - Throws: ``CodecError`` for other bytes than those of the event; then nothing is added. ``LMDBError``.
    func add(archived record: RawSpan, payload: RawSpan) throws {
        guard !isComplete else { return }
        let header = try RecordHeader.read(record, seq: batch.nextSeq)
        guard header.recordedAt >= newest else {
            throw CodecError(.damaged, seq: batch.nextSeq, "it was recorded before the event before it")
        }
        if case .time(let time)? = moment, header.recordedAt > time { return isComplete = true }
        try batch.append(stored: record, payload: payload)
        newest = header.recordedAt
        if header.isErased || header.kind == .erased { erasedStreams.insert(header.stream) }
        if moment == .seq(Seq(head)) { isComplete = true }
        if batch.byteCount >= Self.archivedBytesAtOnce { try flush() }
    }

    /// Stores the rest, folds the log into states, and marks the store as finished.
    ///
    /// - Parameter progress: called with the number of events folded, and of all events.
    /// - Throws: ``TraylogError/refused(_:)`` when lines are missing at the end, or before the moment to restore.
    public func finish(progress: (_ done: UInt64, _ total: UInt64) -> Void) throws(TraylogError) -> RestoreReport {
        do {
            // Nothing is left at all.
            appendLost(leading, at: Timestamp(milliseconds: 0))
            let head = Seq(batch.nextSeq - 1)
            if case .seq(let seq)? = moment, !isComplete {
                throw Refusal.invalid(field: "through", reason: "the lines end at event \(head), before event \(seq)")
            }
            guard head == last || isComplete || origin != nil else {
                throw Refusal.invalid(
                    field: "stored.last", reason: "the export goes on to event \(last), which is missing here")
            }
            try flush()
            let environment = try begun()
            try derive(in: environment) { progress($0, head.rawValue) }
            environment.close()
            (report.events, report.head) = (head.rawValue, head)
            return report
        } catch {
            throw TraylogError(error, in: directory)
        }
    }
}

extension LogRestore {
    private func derive(in environment: Environment, progress: (UInt64) -> Void) throws {
        let tables = Tables(environment)
        // A restore that was killed here may have left some.
        for table in [tables.derived.names.database, tables.derived.states.database, tables.derived.dues.database] {
            try environment.empty(table)
        }
        if let origin {
            record.erased = UInt64(erasedStreams.count)
            let forks = origin.history.forks.filter { $0.after.rawValue < head }
            record.history = StoreHistory(forks) ?? StoreHistory()
        }
        var derived = try RebuiltRows.derive(in: environment, tables, record, progress: progress)
        // A copy begins its own history when it is opened for writing, because it knows no place.
        derived.place = origin == nil ? environment.place ?? StoreRecord.nowhere : StoreRecord.nowhere
        try environment.write { try derived.write(tables, to: &$0) }
    }

    private func check(_ exported: borrowing ExportedEvent) throws {
        let event = exported.event
        try checkNext(event.seq, last: exported.stored.last)
        guard event.recordedAt >= newest else {
            throw Refusal.invalid(field: "recordedAt", reason: "is earlier than in the event before")
        }
        guard event.body.greatestNamed < event.seq else {
            throw Refusal.invalid(field: "stored.payload", reason: "it names an event that is not before this one")
        }
    }

    private func checkNext(_ seq: Seq, last: Seq) throws {
        let next = batch.nextSeq + leading
        guard seq.rawValue == next else {
            throw Refusal.invalid(field: "seq", reason: "must be \(next), not \(seq): no event may be left out")
        }
        guard last >= seq else {
            throw Refusal.invalid(field: "stored.last", reason: "must not be before this event")
        }
    }

    /// Puts events in the place of missing ones, so that all others keep their numbers.
    private func appendLost(_ count: UInt64, at time: Timestamp) {
        for _ in 0..<count {
            batch.append(
                .lost, user: nil, kind: .lost, stream: .absent, revision: 0, recordedAt: time, salt: Salt(0, 0))
        }
        if count > 0 { newest = time }
    }

    private func append(_ exported: borrowing ExportedEvent) throws {
        let (event, stored) = (exported.event, exported.stored)
        let stream = try streams.add(event, stream: stored.stream) { try self.stream(of: $0) }
        let isFormer = try checkChecksum(of: exported)
        if !isFormer { try streams.checkRevisions(of: event, in: stored.stream) }
        newest = event.recordedAt
        if let stream {
            add(exported, stream: stream, isFormer: isFormer)
        } else {
            report.orphaned.extend(by: event.seq.rawValue)
            appendLost(1, at: newest)
        }
    }

    /// - Returns: whether the line is from the version of Traylog before revisions.
    private func checkChecksum(of exported: borrowing ExportedEvent) throws(Refusal) -> Bool {
        let (event, stored) = (exported.event, exported.stored)
        let header = RecordHeader(
            kind: event.kind, stream: stored.stream, revision: UInt32(clamping: event.revision),
            recordedAt: event.recordedAt, occurredAt: event.occurredAt, salt: stored.salt)
        let (seq, payload) = (event.seq.rawValue, RawSpan(_elements: stored.payload.span))
        if RecordCodec.checksum(seq: seq, header: header, payload: payload) == stored.checksum { return false }
        if event.revision == 0,
            RecordCodec.formerChecksum(seq: seq, header: header, payload: payload) == stored.checksum
        {
            return true
        }
        throw .invalid(field: "stored.crc", reason: "does not match: the line is not what was exported")
    }

    /// Adds the event as the next of its stream.
    ///
    /// - Parameter isFormer: whether revisions are not in the line, and are counted.
    private func add(_ exported: borrowing ExportedEvent, stream: StreamID, isFormer: Bool) {
        let (event, stored) = (exported.event, exported.stored)
        var payload = stored.payload
        if isFormer || streams.hasGaps, let body = streams.recounted(event.body) {
            payload.removeAll()
            var recounted = copy event
            recounted.body = body
            PayloadEncoder.append(recounted, to: &payload)
        }
        batch.append(
            payload: RawSpan(_elements: payload.span), kind: event.kind, stream: stream,
            revision: streams.nextRevision(in: stream), recordedAt: event.recordedAt, occurredAt: event.occurredAt,
            salt: stored.salt)
    }

    /// The stream of an event that was added before.
    private func stream(of item: Seq) throws -> StreamID? {
        if let header = try batch.header(item.rawValue) { return header.stream }
        guard let environment, item.rawValue < batch.firstSeq else { return nil }
        let log = EventLog(environment)
        return try environment.read { transaction in
            try log.record(item.rawValue, in: transaction) { try RecordHeader.read($0, seq: item.rawValue).stream }
        }
    }

    private func flush() throws {
        guard !batch.isEmpty else { return }
        let environment = try begun()
        let log = EventLog(environment)
        try environment.write { try log.append(batch, to: &$0) }
        batch.reset(firstSeq: batch.nextSeq)
    }

    /// The store, marked as unfinished.
    private func begun() throws -> Environment {
        let environment = try self.environment ?? open(creates: true)
        self.environment = environment
        guard !hasBegun else { return environment }
        try checkTarget()
        if let origin { record = origin }
        let meta = Tables(environment).log.meta
        try environment.write { try record.write(meta, isFinished: false, to: &$0) }
        // An earlier restore may have left events.
        for table in EventLog.tableNames { try environment.empty(environment.database(table)) }
        hasBegun = true
        return environment
    }

    /// - Throws: ``StoreFailure`` `unusableTarget` for a store with events, unless they are from an unfinished restore.
    private func checkTarget() throws {
        guard let environment else { return }
        let tables = Tables(environment)
        let (found, head) = try environment.read { transaction in
            (try StoreRecord.readAny(tables.log.meta, in: transaction), try tables.log.events.head(in: transaction).seq)
        }
        if let found { record = found.record }
        guard head == 0 || found?.isFinished == false else {
            throw StoreFailure(
                code: .unusableTarget,
                message:
                    "\(directory) holds \(head) events, and a restore needs a store that is missing or empty: choose "
                    + "another directory")
        }
    }

    private func open(creates: Bool) throws(LMDBError) -> Environment {
        var configuration = Environment.Configuration(options)
        configuration.creates = creates
        return try Environment.open(
            directory: directory, access: .readWrite, databases: Tables.allNames, configuration: configuration)
    }
}

/// The extent of a restored log.
@_spi(Operations) public struct RestoreReport: Hashable, Sendable {
    /// How many events were restored.
    public var events: UInt64
    /// The newest of them.
    public var head: Seq
    /// The events that the export could not read, ascending, as ranges.
    ///
    /// In place of these and of those below the store has a ``Event/Body/lost``.
    public var lost: [ClosedRange<UInt64>] = []
    /// Those whose content was erased.
    public var erased: [ClosedRange<UInt64>] = []
    /// Those that had left the log with a compaction.
    public var compacted: [ClosedRange<UInt64>] = []
    /// Those that change a broadcast that is missing itself.
    public var orphaned: [ClosedRange<UInt64>] = []
    /// What ended the restore of an archive before its last event; nil for nothing.
    public var damage: String?
    /// The mark of the history that was restored, where an archive has several; empty for the first one.
    public var branch: String?
    /// The marks of the others.
    public var otherBranches: [String] = []
}
