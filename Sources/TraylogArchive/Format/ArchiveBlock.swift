import TraylogLog

/// A block of events in an archive: its row in the index.
///
/// `first u64 | offset u64 | stored u32 | raw u32 | events u32 | crc u32`. At the offset is a frame of 24 bytes, the row
/// without the offset, and then the compressed bytes.
struct ArchiveBlock: Hashable, Sendable {
    static let byteCount = 32
    /// The size of the frame before the compressed bytes.
    static let frameBytes = 24
    /// A block is closed when it has this many bytes.
    ///
    /// Only a large event makes it much larger.
    static let usualRawBytes = 256 << 10
    /// The size of a block that is nearly full and then gets the largest event.
    static let largestRawBytes =
        usualRawBytes + ArchivedEvent.prefixBytes + RecordCodec.inlineBytes + RecordCodec.largestPayloadBytes

    /// The seq of its first event.
    var first: UInt64
    /// The offset of its frame.
    var offset: UInt64
    /// The size of the compressed bytes.
    var storedBytes: UInt32
    var rawBytes: UInt32
    var events: UInt32
    /// The checksum of the frame, except for the checksum itself, and of the compressed bytes.
    var checksum: UInt32

    var end: UInt64 { offset + UInt64(Self.frameBytes) + UInt64(storedBytes) }

    /// The frame without the checksum at its end.
    var checkedFrame: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: Self.frameBytes) { output in
            output.append(littleEndian: first)
            output.append(littleEndian: storedBytes)
            output.append(littleEndian: rawBytes)
            output.append(littleEndian: events)
        }
        return bytes
    }

    func append(to index: inout [UInt8]) {
        index.append(addingCapacity: Self.byteCount) { output in
            output.append(littleEndian: first)
            output.append(littleEndian: offset)
            output.append(littleEndian: storedBytes)
            output.append(littleEndian: rawBytes)
            output.append(littleEndian: events)
            output.append(littleEndian: checksum)
        }
    }

    static func read(_ index: RawSpan, at offset: Int) -> ArchiveBlock {
        ArchiveBlock(
            first: index.littleEndian(at: offset), offset: index.littleEndian(at: offset + 8),
            storedBytes: index.littleEndian(at: offset + 16), rawBytes: index.littleEndian(at: offset + 20),
            events: index.littleEndian(at: offset + 24), checksum: index.littleEndian(at: offset + 28))
    }
}

/// One event in the bytes of a block: `seq u64 | record u32 | payload u32`, then the record as in the log, and the
/// payload if the log keeps it in chunks.
///
/// The two numbers are their sizes.
struct ArchivedEvent: Hashable, Sendable {
    static let prefixBytes = 16

    let seq: UInt64
    /// The range of the record in the block.
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
