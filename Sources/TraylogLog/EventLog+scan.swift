import TraylogDomain
import TraylogPages

extension EventLog {
    /// Lends the payload of a record whose header is read already, after checking both.
    ///
    /// - Throws: ``CodecError``, `erased` for an event without a payload; ``LMDBError``; what `body` throws.
    @inline(__always)
    package func withPayload<R>(
        of seq: UInt64, _ header: RecordHeader, _ record: RawSpan, in transaction: borrowing ReadTransaction,
        _ body: (RawSpan) throws -> R
    ) throws -> R {
        guard case .inline(let range) = try RecordCodec.body(seq: seq, header: header, record: record) else {
            return try withPayload(of: seq, record, in: transaction) { try body($1) }
        }
        try RecordCodec.verifyChecksum(seq: seq, record: record)
        return try body(record.extracting(range))
    }
}
