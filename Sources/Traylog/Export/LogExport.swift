import TraylogDomain
import TraylogJSON
import TraylogLog
import TraylogQueries
import TraylogStates

/// Writes the log as lines of JSON, some at a time. ``LogRestore`` makes the same log from them.
package struct LogExport {
    /// The lines of some events, each with its newline.
    package struct Lines {
        package var bytes: [UInt8]
        package var last: Seq
    }

    /// Leaves out what does not match. What is left cannot be restored.
    package var filter: EventFilter?
    /// The event of the last line; below the first one when there is nothing to export.
    package let last: Seq
    private let queries: Queries
    private var next: UInt64
    /// The log and its archives; nil without archives.
    private var merged: MergedLog?

    // Limits the life of a read transaction.
    private static let eventsAtOnce = 1_000
    private static let bytesAtOnce = 1 << 20

    /// Begins an export.
    ///
    /// - Parameters:
    ///   - first: the first event; 0 means 1.
    ///   - last: the last event, at most the present head; nil for the head.
    ///   - archives: the store's archives. With them no event of the range may be missing.
    package init(
        of store: some TrayQueries, from first: Seq = 1, through last: Seq? = nil, including archives: Archives? = nil
    ) throws(TraylogError) {
        queries = store.queries
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
    package mutating func take() throws(TraylogError) -> Lines? {
        guard next <= last.rawValue else { return nil }
        var writer = JSONWriter()
        do {
            if merged != nil {
                try writeMerged(to: &writer)
            } else {
                next = try queries.source.read { try write(to: &writer, from: $0) }
            }
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
        return Lines(bytes: writer.bytes, last: Seq(next - 1))
    }

    private func write(to writer: inout JSONWriter, from store: StoreSnapshot) throws -> UInt64 {
        let log = store.tables.log
        let end = min(last.rawValue, next + UInt64(Self.eventsAtOnce) - 1)
        let floor = store.record.floor.seq.rawValue
        let reached = try store.read { transaction in
            try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                guard seq <= last.rawValue else { return false }
                if try skeleton(seq, record, to: &writer) { return seq < end }
                try log.withPayload(of: seq, record, in: transaction) { header, payload in
                    try line(seq, header, payload, to: &writer)
                }
                return seq < end && writer.bytes.count < Self.bytesAtOnce
            }
        }
        guard reached > next else { throw CodecError(.damaged, seq: next, "it is missing from the log") }
        return reached
    }

    private mutating func writeMerged(to writer: inout JSONWriter) throws {
        let end = next + UInt64(Self.eventsAtOnce)
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
