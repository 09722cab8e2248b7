import TraylogChecks
import TraylogDomain
import TraylogJSON
import TraylogLog
import TraylogQueries
import TraylogStates

/// Writes the log as lines of JSON, some at a time.
///
/// ``LogRestore`` makes the same log from them.
@_spi(Operations) public struct LogExport {
    /// The lines of some events, each with its newline.
    public struct Lines {
        /// The lines, each with its newline.
        public var bytes: [UInt8]
        /// The event of the last line.
        public var last: Seq
    }

    /// Goes on after an event that cannot be read, and puts a line for the gap in its place.
    ///
    /// Erased events and those that left the log have such lines, too, so ``LogRestore`` accepts what is left of any
    /// store.
    public var skipsDamage = false
    /// The events that could not be read, ascending, as ranges.
    public private(set) var lost: [ClosedRange<UInt64>] = []
    /// The events that have no content any more because their people were erased, ascending, as ranges; while skipping damage.
    public private(set) var erased: [ClosedRange<UInt64>] = []
    /// The events that left the log with a compaction, ascending, as ranges; while skipping damage.
    public private(set) var compacted: [ClosedRange<UInt64>] = []
    /// Met behind lines that were still good.
    private var damage: TraylogError?
    /// Leaves out events that do not match.
    ///
    /// No store can be restored from an export that leaves events out.
    public var filter: EventFilter?
    /// The event of the last line; below the first one when there is nothing to export.
    public let last: Seq
    /// Nil where the store cannot be opened.
    private let queries: Queries?
    private var next: UInt64
    /// The newest event whose row was met: it did not leave the log, also below the floor.
    private var met: UInt64 = 0
    private let floor: UInt64
    /// The data file, page by page, once something was damaged.
    private var salvaged: SalvagedLog?
    /// The log and its archives; nil without archives.
    private var merged: MergedLog?

    /// How many events one ``take()`` looks at, at most; 1 or more.
    ///
    /// It limits the life of a read transaction.
    public var eventsAtOnce = 1_000 {
        didSet { eventsAtOnce = max(eventsAtOnce, 1) }
    }
    private static let bytesAtOnce = 1 << 20

    /// Begins an export.
    ///
    /// - Parameters:
    ///   - store: the store to export.
    ///   - first: the first event; 0 means 1.
    ///   - last: the last event, at most the present head; nil for the head.
    ///   - archives: the store's archives. With them no event of the range may be missing.
    public init(
        of store: some BlockingQueries, from first: Seq = 1, through last: Seq? = nil,
        including archives: Archives? = nil
    ) throws(TraylogError) {
        let queries = store.queries
        self.queries = queries
        floor = try queries.answer { $0.record.floor.seq.rawValue }
        let head = try store.head()
        self.last = min(last ?? head, head)
        next = max(first.rawValue, 1)
        if let archives {
            merged = try MergedLog(queries, archives, of: nil, from: next, through: self.last.rawValue)
        }
    }

    /// Begins an export of the readable events of a store that is too damaged to be opened.
    ///
    /// It skips damage.
    ///
    /// - Parameters: as for the other initializer.
    /// - Throws: ``TraylogError/failed(_:)``: `notFound`, `foreignFile` when no page has an event.
    /// - Complexity: reads the whole data file first.
    public init(salvaging directory: String, from first: Seq = 1, through last: Seq? = nil) throws(TraylogError) {
        queries = nil
        do {
            let salvaged = try SalvagedLog(store: directory, wanted: StoreRecord.salvagedKeys)
            let records = StoreRecord.salvaged(salvaged.values)
            // An event that left the log has a number and no row.
            let dropped = min(records.map(\.dropped).max() ?? 0, Seq.highest)
            let head = max(
                salvaged.last, StateProgress.salvaged(salvaged.values).map(\.through).max() ?? 0,
                salvaged.rowCount == 0 ? 0 : min(salvaged.rowCount + dropped, Seq.highest))
            guard head > 0 else {
                throw StoreFailure(code: .foreignFile, message: "no page of the data file holds an event")
            }
            floor = records.map(\.floor.seq.rawValue).max() ?? 0
            self.last = min(last ?? Seq(head), Seq(head))
            self.salvaged = salvaged
        } catch {
            throw TraylogError(error, in: directory)
        }
        next = max(first.rawValue, 1)
        skipsDamage = true
    }

    /// The next lines; nil after the last.
    ///
    /// - Throws: ``TraylogError/failed(_:)`` `damaged` for an event that cannot be read; `notFound` for an event that
    ///   neither the log nor the archives have.
    public mutating func take() throws(TraylogError) -> Lines? {
        if let damage { throw damage }
        guard next <= last.rawValue else { return nil }
        var writer = JSONWriter()
        do {
            if merged != nil {
                try writeMerged(to: &writer)
            } else if let queries {
                let from = next
                try queries.source.read { try write(to: &writer, from: $0, first: from, count: eventsAtOnce) }
            } else {
                try passOver(&writer)
            }
        } catch {
            let failure = TraylogError(error, in: queries?.source.directory ?? "")
            guard failure.isDamage else { throw failure }
            if !writer.bytes.isEmpty {
                if !skipsDamage { damage = failure }
            } else if skipsDamage {
                try passOver(&writer)
            } else {
                throw failure
            }
        }
        return Lines(bytes: writer.bytes, last: Seq(next - 1))
    }

    /// Goes event by event where something is damaged, up to the next one that the log can read.
    private mutating func passOver(_ writer: inout JSONWriter) throws(TraylogError) {
        let end = min(last.rawValue, next + UInt64(eventsAtOnce) - 1)
        while next <= end, writer.bytes.count < Self.bytesAtOnce {
            let first = next
            if let queries {
                do {
                    return try queries.source.read { try write(to: &writer, from: $0, first: first, count: 1) }
                } catch {
                    let failure = TraylogError(error, in: queries.source.directory)
                    guard failure.isDamage else { throw failure }
                }
            }
            do {
                try writeSalvaged(first, to: &writer)
            } catch {
                throw TraylogError(error, in: queries?.source.directory ?? "")
            }
            next = first + 1
        }
    }

    /// Writes an event that no table leads to any more, if a page has it, and otherwise a line for the gap.
    private mutating func writeSalvaged(_ seq: UInt64, to writer: inout JSONWriter) throws {
        if salvaged == nil, let queries {
            salvaged = try SalvagedLog(store: queries.source.directory, wanted: StoreRecord.salvagedKeys)
        }
        if let (header, payload) = try salvaged?.event(seq) {
            guard let payload else { return gap(seq, .erased, to: &writer) }
            do throws(CodecError) {
                return try line(seq, header, RawSpan(_elements: payload.span), to: &writer)
            } catch {
                // Its checksum is right, so a newer version wrote it.
                guard error.code != .newer else { throw error }
            }
        }
        gap(seq, seq >= floor || seq == met ? .damaged : .compacted, to: &writer)
    }

    private mutating func gap(_ seq: UInt64, _ reason: ExportGap, to writer: inout JSONWriter) {
        switch reason {
        case .damaged: lost.extend(by: seq)
        case .erased: erased.extend(by: seq)
        case .compacted: compacted.extend(by: seq)
        }
        if filter == nil { writer.writeGap(Seq(seq), reason, last: last) }
    }

    /// Moves ``next`` behind each event that it has written.
    private mutating func write(
        to writer: inout JSONWriter, from store: StoreSnapshot, first: UInt64, count: Int
    ) throws {
        let log = store.tables.log.events
        let end = min(last.rawValue, first + UInt64(count) - 1)
        let floor = store.record.floor.seq.rawValue
        let reached = try store.read { transaction in
            try log.forEachRecord(from: first, floor: floor, in: transaction) { seq, record in
                guard seq <= last.rawValue, count > 1 || seq == first else { return false }
                met = seq
                // Where the log has none because they left it.
                if skipsDamage {
                    for missing in next..<max(next, seq) { gap(missing, .compacted, to: &writer) }
                    next = max(next, seq)
                }
                if try !skeleton(seq, record, to: &writer) {
                    try log.withPayload(of: seq, record, in: transaction) { header, payload in
                        try line(seq, header, payload, to: &writer)
                    }
                }
                next = seq + 1
                return seq < end && writer.bytes.count < Self.bytesAtOnce
            }
        }
        guard reached > first else { throw CodecError(.damaged, seq: first, "it is missing from the log") }
        next = max(next, count > 1 ? reached : first + 1)
    }

    private mutating func writeMerged(to writer: inout JSONWriter) throws {
        let end = next + UInt64(eventsAtOnce)
        while next <= last.rawValue, next < end, writer.bytes.count < Self.bytesAtOnce {
            guard let row = try merged?.take(), row.seq == next else {
                throw StoreFailure(
                    code: .notFound,
                    message:
                        "event \(next) is neither in the store nor in its archives; give the directory with all archives, "
                        + "or export without archives what the store has")
            }
            if try skeleton(row.seq, RawSpan(_elements: row.record.span), to: &writer) {
                next += 1
                continue
            }
            try row.withPayload { header, payload in try line(row.seq, header, payload, to: &writer) }
            next += 1
        }
    }

    /// Writes an erased event; returns false for any other.
    private mutating func skeleton(_ seq: UInt64, _ record: RawSpan, to writer: inout JSONWriter) throws -> Bool {
        guard let skeleton = try EventLog.skeleton(seq, record) else { return false }
        guard !skipsDamage else {
            gap(seq, .erased, to: &writer)
            return true
        }
        guard filter?.matches(skeleton) ?? true else { return true }
        writer.write(skeleton)
        writer.newline()
        return true
    }

    private mutating func line(
        _ seq: UInt64, _ header: RecordHeader, _ payload: RawSpan, to writer: inout JSONWriter
    ) throws(CodecError) {
        let event = try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
        guard filter?.matches(event) ?? true else { return }
        // It names a pseudonym of a different store.
        if skipsDamage, case .erased = event.body { return gap(seq, .erased, to: &writer) }
        var bytes: [UInt8] = []
        bytes.append(copying: payload)
        let stored = StoredForm(
            stream: header.stream, salt: header.salt, payload: bytes, checksum: header.crc,
            last: last)
        writer.write(event, stored: stored)
        writer.newline()
    }
}

extension TraylogError {
    /// Whether bytes on disk are not those that were written.
    fileprivate var isDamage: Bool { if case .failed(let failure) = self { failure.code == .damaged } else { false } }
}
