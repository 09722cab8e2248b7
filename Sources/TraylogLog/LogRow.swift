import TraylogDomain
import TraylogLMDB

/// A copy of the bytes of one event of the log.
package struct LogRow: Hashable, Sendable {
    package let seq: UInt64
    package let record: [UInt8]
    /// The payload of a chunked record, put together; empty when it is in the record, or erased.
    package let payload: [UInt8]

    package init(seq: UInt64, record: RawSpan, payload: RawSpan) {
        self.seq = seq
        var copy: [UInt8] = []
        copy.append(copying: record)
        self.record = copy
        var payloadCopy: [UInt8] = []
        payloadCopy.append(copying: payload)
        self.payload = payloadCopy
    }

    /// Lends header and payload, checked.
    ///
    /// - Throws: ``CodecError``, `erased` for an event without a payload; what `body` throws.
    package func withPayload<R>(_ body: (RecordHeader, RawSpan) throws -> R) throws -> R {
        let span = RawSpan(_elements: record.span)
        let header = try RecordHeader.read(span, seq: seq)
        switch try RecordCodec.body(seq: seq, header: header, record: span) {
        case .inline(let range):
            try RecordCodec.verify(seq: seq, record: span)
            return try body(header, span.extracting(range))
        case .chunked:
            let payload = RawSpan(_elements: payload.span)
            try RecordCodec.verify(seq: seq, record: span, chunkedPayload: payload)
            return try body(header, payload)
        case .erased:
            try RecordCodec.verify(seq: seq, record: span)
            throw CodecError(.erased, seq: seq, "only its header is left")
        }
    }

    /// - Throws: ``CodecError``.
    package func event() throws -> Event {
        if let skeleton = try EventLog.skeleton(seq, RawSpan(_elements: record.span)) { return skeleton }
        return try withPayload { header, payload in
            try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
        }
    }
}

extension EventLog {
    /// The bytes of an event; nil when the log does not hold it.
    ///
    /// - Throws: ``CodecError`` for chunks that are missing or damaged. The record itself is unchecked.
    package func row(_ seq: UInt64, in transaction: borrowing ReadTransaction) throws -> LogRow? {
        try record(seq, in: transaction) { try row(seq, $0, in: transaction) }
    }

    /// The bytes of an event, given its record.
    package func row(_ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws -> LogRow {
        let header = try RecordHeader.read(record, seq: seq)
        guard header.isChunked else { return LogRow(seq: seq, record: record, payload: RawSpan()) }
        return try withPayload(of: seq, record, in: transaction) { _, payload in
            LogRow(seq: seq, record: record, payload: payload)
        }
    }

    /// The tables, for copying rows as they are.
    package var tables: (log: Database, chunks: Database) { (records, largePayloads) }

    /// Visits the stored chunks of a large payload, in order.
    package func forEachChunk(
        of seq: UInt64, in transaction: borrowing ReadTransaction,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void
    ) throws {
        var start: [UInt8] = []
        RecordCodec.appendChunkKey(seq: seq, index: 0, to: &start)
        try transaction.withCursor(largePayloads) { cursor in
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found {
                let isOurs = try cursor.withEntry { key, value in
                    guard key.byteCount == RecordCodec.chunkKeyBytes,
                        key.littleEndian(at: 0, as: UInt64.self).byteSwapped == seq
                    else { return false }
                    try body(key, value)
                    return true
                }
                guard isOurs else { return }
                found = try cursor.next()
            }
        }
    }
}
