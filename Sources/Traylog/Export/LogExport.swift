import TraylogDomain
import TraylogJSON
import TraylogLog
import TraylogQueries
import TraylogStates

/// Writes the log as lines of JSON, some at a time. ``LogRestore`` makes the same log from them.
public struct LogExport {
    /// The lines of some events, each with its newline.
    public struct Lines {
        /// The lines, each with its newline.
        public var bytes: [UInt8]
        /// The event of the last line.
        public var last: Seq
    }

    /// Goes on behind an event that cannot be read, and puts a line for the gap in its place.
    public var skipsDamage = false
    /// The events that could not be read, ascending, as ranges.
    public private(set) var lost: [ClosedRange<UInt64>] = []
    /// Met behind lines that were still good.
    private var damage: TraylogError?
    /// Leaves out what does not match. What is left cannot be restored.
    public var filter: EventFilter?
    /// The event of the last line; below the first one when there is nothing to export.
    public let last: Seq
    private let queries: Queries
    private var next: UInt64
    private let floor: UInt64
    /// The log and its archives; nil without archives.
    private var merged: MergedLog?

    /// How many events one ``take()`` looks at, at most; 1 or more. It limits the life of a read transaction.
    public var eventsAtOnce = 1_000 {
        didSet { eventsAtOnce = max(eventsAtOnce, 1) }
    }
    private static let bytesAtOnce = 1 << 20

    /// Begins an export.
    ///
    /// - Parameters:
    ///   - store: what is exported.
    ///   - first: the first event; 0 means 1.
    ///   - last: the last event, at most the present head; nil for the head.
    ///   - archives: the store's archives. With them no event of the range may be missing.
    public init(
        of store: some BlockingQueries, from first: Seq = 1, through last: Seq? = nil,
        including archives: Archives? = nil
    ) throws(TraylogError) {
        queries = store.queries
        floor = try store.queries.answer { $0.record.floor.seq.rawValue }
        let head = try store.head()
        self.last = min(last ?? head, head)
        next = max(first.rawValue, 1)
        if let archives {
            merged = try MergedLog(queries, archives, of: nil, from: next, through: self.last.rawValue)
        }
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
            } else {
                let from = next
                try queries.source.read { try write(to: &writer, from: $0, first: from, count: eventsAtOnce) }
            }
        } catch {
            let failure = TraylogError(error, in: queries.source.directory)
            guard failure.isDamage else { throw failure }
            if writer.bytes.isEmpty, skipsDamage {
                try passOver(&writer)
            } else if writer.bytes.isEmpty {
                throw failure
            }
            if !skipsDamage { damage = failure }
        }
        return Lines(bytes: writer.bytes, last: Seq(next - 1))
    }

    /// Goes event by event where something is damaged, up to the next one that can be read.
    private mutating func passOver(_ writer: inout JSONWriter) throws(TraylogError) {
        while next <= last.rawValue {
            let first = next
            do {
                return try queries.source.read { try write(to: &writer, from: $0, first: first, count: 1) }
            } catch {
                let failure = TraylogError(error, in: queries.source.directory)
                guard failure.isDamage else { throw failure }
            }
            if let range = lost.last, range.upperBound == first - 1 {
                lost[lost.count - 1] = range.lowerBound...first
            } else {
                lost.append(first...first)
            }
            next = first + 1
            guard first > floor else { continue }
            writer.writeLost(Seq(first), last: last)
        }
    }

    /// Moves ``next`` behind each event that it has written.
    private mutating func write(
        to writer: inout JSONWriter, from store: StoreSnapshot, first: UInt64, count: Int
    ) throws {
        let log = store.tables.log
        let end = min(last.rawValue, first + UInt64(count) - 1)
        let floor = store.record.floor.seq.rawValue
        let reached = try store.read { transaction in
            try log.forEachRecord(from: first, floor: floor, in: transaction) { seq, record in
                guard seq <= last.rawValue, count > 1 || seq == first else { return false }
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
    private func skeleton(_ seq: UInt64, _ record: RawSpan, to writer: inout JSONWriter) throws -> Bool {
        guard let skeleton = try EventLog.skeleton(seq, record) else { return false }
        guard filter?.matches(skeleton) ?? true else { return true }
        writer.write(skeleton)
        writer.newline()
        return true
    }

    private func line(_ seq: UInt64, _ header: RecordHeader, _ payload: RawSpan, to writer: inout JSONWriter) throws {
        let event = try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
        guard filter?.matches(event) ?? true else { return }
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
