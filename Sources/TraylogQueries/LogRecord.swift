import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogStates

/// An event as the log stores it, to the byte: what another store needs to hold the same event.
///
/// The seq is not among the bytes, but their checksum covers it.
@_spi(Replication) public struct LogRecord: Hashable, Sendable {
    /// The event's number.
    public var seq: Seq
    /// The header of 48 bytes and then the payload, a Protocol Buffers message (Docs/internals/format.md, "Record").
    public var bytes: [UInt8]

    /// A record as another store gave it; `apply` checks the bytes, this does not.
    public init(seq: Seq, bytes: [UInt8]) {
        self.seq = seq
        self.bytes = bytes
    }
}

@_spi(Replication) extension LogRecord {
    /// Whether the event reports a rewrite of the whole store, a compaction or an erasure; so ``bytes`` must be those of a
    /// record.
    public var tellsOfRewrite: Bool {
        let header = try? RecordHeader.read(RawSpan(_elements: bytes.span), seq: seq.rawValue)
        return header?.kind == .compacted || header?.kind == .erased
    }
}

@_spi(Replication) extension LogRecord: CustomStringConvertible {
    /// The text for a person.
    public var description: String { "event \(seq) in \(bytes.count) bytes" }
}

/// How far a store has come in the log of record that its events were taken from.
@_spi(Replication) public struct SourcePosition: Hashable, Sendable, Codable {
    /// The name of that log, of 1 to 256 bytes without control characters.
    public var source: String
    /// The place in it of what was applied last, in that log's own numbers.
    public var position: UInt64

    /// A place in a source's log; `apply` compares it with what it stored last.
    public init(source: String, position: UInt64) {
        self.source = source
        self.position = position
    }
}

extension StoreSnapshot {
    /// Records of the log, without a gap.
    ///
    /// - Returns: none beyond the head; the first one whatever its size.
    /// - Throws: ``Refusal`` `compacted` when one of them has left the log.
    package func records(from first: UInt64, limit: Int, bytes limitOfBytes: Int) throws -> [LogRecord] {
        var records: [LogRecord] = []
        guard first <= head, limit > 0 else { return [] }
        let floor = record.floor
        var room = limitOfBytes
        try read { transaction in
            _ = try tables.log.events.forEachRecord(from: first, floor: floor.seq.rawValue, in: transaction) {
                seq, record in
                guard seq == first + UInt64(records.count) else { return false }
                let bytes = try tables.log.events.whole(seq, record, in: transaction)
                room -= bytes.count
                guard records.isEmpty || room >= 0 else { return false }
                records.append(LogRecord(seq: Seq(seq), bytes: bytes))
                return records.count < limit && seq < head
            }
        }
        guard !records.isEmpty else { throw floor.refusal }
        return records
    }
}

extension EventLog {
    /// A record with its payload, wherever that is stored; checked.
    fileprivate func whole(
        _ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard try !RecordHeader.read(record, seq: seq).isErased else {
            try RecordCodec.verify(seq: seq, record: record)
            bytes.append(copying: record)
            return bytes
        }
        try withPayload(of: seq, record, in: transaction) { _, payload in
            bytes.append(copying: record.extracting(0..<RecordHeader.byteCount))
            bytes.append(copying: payload)
        }
        return bytes
    }
}
