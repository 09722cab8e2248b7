import TraylogLog

/// Where a block of events is in an archive: its row in the index.
///
/// `first u64 | offset u64 | stored u32 | raw u32 | events u32 | crc u32`. At the offset stand, before the compressed
/// bytes, 24 that say the same without the offset.
struct ArchiveBlock: Hashable, Sendable {
    static let byteCount = 32
    /// What stands before the compressed bytes.
    static let frameBytes = 24
    /// A block is closed when it has so many bytes; one that is larger has a single large event.
    static let usualRawBytes = 256 << 10
    /// The event that takes most, alone in its block or after those of a block that is nearly full.
    static let largestRawBytes =
        usualRawBytes + ArchivedEvent.prefixBytes + RecordCodec.inlineBytes + RecordCodec.largestPayloadBytes

    /// The seq of its first event.
    var first: UInt64
    /// Where its frame begins.
    var offset: UInt64
    /// Compressed.
    var storedBytes: UInt32
    var rawBytes: UInt32
    var events: UInt32
    /// Of the frame but for the checksum itself, and the compressed bytes.
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
