import TraylogLog

/// One event in the bytes of a block: `seq u64 | record u32 | payload u32`, these many bytes of the record as in the log,
/// and of a payload that the log keeps in chunks.
struct ArchivedEvent: Hashable, Sendable {
    static let prefixBytes = 16

    let seq: UInt64
    /// In the bytes of the block.
    let record: Range<Int>
    /// Empty when the payload is in the record, or erased.
    let payload: Range<Int>

    static func append(seq: UInt64, record: RawSpan, payload: RawSpan, to block: inout [UInt8]) {
        block.append(addingCapacity: prefixBytes + record.byteCount + payload.byteCount) { output in
            output.append(littleEndian: seq)
            output.append(littleEndian: UInt32(record.byteCount))
            output.append(littleEndian: UInt32(payload.byteCount))
            output.append(copying: record)
            output.append(copying: payload)
        }
    }

    /// - Returns: nil when the block ends within the event.
    static func read(_ block: RawSpan, at offset: Int) -> ArchivedEvent? {
        guard block.byteCount - offset >= prefixBytes else { return nil }
        let start = offset + prefixBytes
        let recordBytes = Int(block.littleEndian(at: offset + 8, as: UInt32.self))
        let payloadBytes = Int(block.littleEndian(at: offset + 12, as: UInt32.self))
        guard recordBytes + payloadBytes <= block.byteCount - start else { return nil }
        let middle = start + recordBytes
        return ArchivedEvent(
            seq: block.littleEndian(at: offset), record: start..<middle, payload: middle..<(middle + payloadBytes))
    }

    /// Checks that record and payload are those of an event with this seq.
    static func verify(seq: UInt64, record: RawSpan, payload: RawSpan) throws(CodecError) {
        if payload.byteCount > 0 {
            try RecordCodec.verify(seq: seq, record: record, chunkedPayload: payload)
        } else {
            try RecordCodec.verify(seq: seq, record: record)
        }
    }
}
