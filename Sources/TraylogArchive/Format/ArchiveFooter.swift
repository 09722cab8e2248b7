import TraylogLog

/// The last bytes of an archive: where the index of its blocks is, and what there should be.
///
/// `index u64 | blocks u64 | events u64 | first u64 | last u64 | raw u64 | crc of the index u32 | crc of all before the
/// footer u32 | crc of the footer u32 | mark 4`.
struct ArchiveFooter: Hashable, Sendable {
    static let byteCount = 64
    static let mark: [UInt8] = Array("TEND".utf8)
    private static let checkedBytes = 56

    /// Where the index begins.
    var indexOffset: UInt64
    var blocks: UInt64
    var events: UInt64
    /// The seqs of the first and the last event; 0 in an archive without events.
    var first: UInt64
    var last: UInt64
    /// Bytes of all blocks before they were compressed.
    var rawBytes: UInt64
    var indexChecksum: UInt32
    /// Of the whole file before the footer.
    var fileChecksum: UInt32

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: Self.checkedBytes) { output in
            for number in [indexOffset, blocks, events, first, last, rawBytes] { output.append(littleEndian: number) }
            output.append(littleEndian: indexChecksum)
            output.append(littleEndian: fileChecksum)
        }
        bytes.appendChecksum()
        return bytes + Self.mark
    }

    /// - Parameter bytes: the last 64 of the file.
    static func read(_ bytes: RawSpan, path: String) throws(ArchiveError) -> ArchiveFooter {
        let end = byteCount - mark.count
        guard (0..<mark.count).allSatisfy({ bytes.byte(at: end + $0) == mark[$0] }) else {
            throw ArchiveError(.truncated, path: path, "the end of the archive is missing")
        }
        guard crc32c(bytes.extracting(0..<checkedBytes)) == bytes.littleEndian(at: checkedBytes, as: UInt32.self) else {
            throw ArchiveError(.damaged, path: path, "the checksum of its footer does not match")
        }
        func number(_ index: Int) -> UInt64 { bytes.littleEndian(at: 8 * index) }
        return ArchiveFooter(
            indexOffset: number(0), blocks: number(1), events: number(2), first: number(3), last: number(4),
            rawBytes: number(5), indexChecksum: bytes.littleEndian(at: 48), fileChecksum: bytes.littleEndian(at: 52))
    }
}
