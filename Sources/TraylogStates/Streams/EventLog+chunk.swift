import TraylogDomain
import TraylogLMDB
import TraylogLog

/// A part of the log that is decoded at once.
package struct LogChunk {
    /// So many events at most, and of payload the bytes after which no further event joins.
    static let events: UInt64 = 500
    static let payloadBytes = 1 << 20

    package var events: [Event] = []
    /// The newest event that the chunk covers, whether it is among `events` or has no payload any more.
    package var position: UInt64
}

extension LogTables {
    /// The next events after `position`, none beyond `head`; erased ones, and those that a compaction took, are left out.
    ///
    /// - Parameter head: greater than `position`, and in the log.
    /// - Throws: ``CodecError``, ``LMDBError``.
    package func chunk(after position: UInt64, through head: UInt64, _ environment: Environment) throws -> LogChunk {
        try environment.read { transaction in
            let floor = try StoreRecord.read(meta, in: transaction)?.floor.seq.rawValue ?? 0
            var chunk = LogChunk(position: position)
            var bytes = 0
            try events.forEachRecord(from: position + 1, floor: floor, in: transaction) { seq, record in
                guard seq <= head else { return false }
                do {
                    let event = try events.withPayload(of: seq, record, in: transaction) { header, payload in
                        bytes += payload.byteCount
                        return try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
                    }
                    chunk.events.append(event)
                } catch let error as CodecError where error.code == .erased {
                    // Nothing is left of it that a fold could take in.
                }
                chunk.position = seq
                return seq < min(head, position + LogChunk.events) && bytes < LogChunk.payloadBytes
            }
            guard chunk.position > position else {
                throw CodecError(.damaged, seq: position + 1, "it is missing from the log")
            }
            return chunk
        }
    }
}
