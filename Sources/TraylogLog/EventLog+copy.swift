import TraylogDomain
import TraylogPages

extension EventLog {
    /// The tables themselves, for whoever copies rows as they are.
    package var tables: (log: Database, chunks: Database) { (records, largePayloads) }

    /// Visits the chunks of a large payload as they lie in the file, in order.
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
