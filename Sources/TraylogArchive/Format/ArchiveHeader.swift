import TraylogLog

/// The first bytes of an archive (Docs/internals/format.md, "Archives").
///
/// `magic 8 | version u32 | flags u32 | store 16 | through u64 | history u64 | zeros 12 | crc u32`. Magic, version and checksum have
/// their place in all versions.
package struct ArchiveHeader: Hashable, Sendable {
    static let byteCount = 64
    static let version: UInt32 = 2
    static let magic: [UInt8] = Array("TRAYARC".utf8) + [0x1A]
    private static let checkedBytes = 60

    package let store: StoreIdentity
    /// The floor that the compaction moved the store to; of a segment, its last event.
    ///
    /// Every event in the archive is at or below it.
    package let through: UInt64
    /// The store's history at that event: 0 for the one that every store begins with.
    package let history: UInt64
    /// Whether the file is a segment: it has every event from its first to its last, and a ``SegmentEnd``.
    package let isSegment: Bool

    package init(store: StoreIdentity, through: UInt64, history: UInt64 = 0, isSegment: Bool = false) {
        self.store = store
        self.through = through
        self.history = history
        self.isSegment = isSegment
    }

    /// The flag of a segment.
    private static let segment: UInt32 = 1

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: Self.byteCount) { output in
            for byte in Self.magic { output.append(byte) }
            output.append(littleEndian: Self.version)
            output.append(littleEndian: isSegment ? Self.segment : 0)
            output.append(littleEndian: store.first)
            output.append(littleEndian: store.second)
            output.append(littleEndian: through)
            output.append(littleEndian: history)
            for _ in 0..<3 { output.append(littleEndian: UInt32(0)) }
        }
        bytes.appendChecksum()
        return bytes
    }

    /// - Parameter bytes: the first 64 bytes of the file, or all of a shorter one.
    static func read(_ bytes: RawSpan, path: String) throws(ArchiveError) -> ArchiveHeader {
        let known = min(bytes.byteCount, magic.count)
        guard (0..<known).allSatisfy({ bytes.byte(at: $0) == magic[$0] }) else {
            throw ArchiveError(.notAnArchive, path: path, "this is no archive of Traylog")
        }
        guard bytes.byteCount >= byteCount else {
            throw ArchiveError(.truncated, path: path, "the file ends within its header")
        }
        // The checksum comes first, so that a flipped bit of the version is not taken for a newer format.
        guard crc32c(bytes.extracting(0..<checkedBytes)) == bytes.littleEndian(at: checkedBytes, as: UInt32.self) else {
            throw ArchiveError(.damaged, path: path, "the checksum of its header does not match")
        }
        let version: UInt32 = bytes.littleEndian(at: 8)
        guard version >= Self.version else {
            throw ArchiveError(
                .older, path: path,
                "the archive was written by a version of Traylog before 0.1.0 (format \(version))")
        }
        let flags: UInt32 = bytes.littleEndian(at: 12)
        guard version == Self.version, flags & ~segment == 0 else {
            throw ArchiveError(
                .newer, path: path, "the archive was written by a newer version of Traylog (format \(version))")
        }
        return ArchiveHeader(
            store: StoreIdentity(bytes.littleEndian(at: 16), bytes.littleEndian(at: 24)),
            through: bytes.littleEndian(at: 32), history: bytes.littleEndian(at: 40), isSegment: flags == segment)
    }
}

extension [UInt8] {
    /// Appends the checksum of all bytes so far.
    mutating func appendChecksum() {
        let crc = crc32c(RawSpan(_elements: span))
        append(addingCapacity: 4) { $0.append(littleEndian: crc) }
    }
}

/// The last bytes of an archive: the place of the index, the totals, and the checksums.
///
/// `index u64 | blocks u64 | events u64 | first u64 | last u64 | raw u64 | crc of the index u32 | crc of all before the
/// footer u32 | crc of the footer u32 | mark 4`.
struct ArchiveFooter: Hashable, Sendable {
    static let byteCount = 64
    static let mark: [UInt8] = Array("TEND".utf8)
    private static let checkedBytes = 56

    /// The offset of the index.
    var indexOffset: UInt64
    var blocks: UInt64
    var events: UInt64
    /// The seqs of the first and the last event; 0 in an archive without events.
    var first: UInt64
    var last: UInt64
    /// The size of all blocks before compression.
    var rawBytes: UInt64
    var indexChecksum: UInt32
    /// The checksum of the whole file before the footer.
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

    /// - Parameter bytes: the last 64 bytes of the file.
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

/// The description of an archive, from its header and footer.
package struct ArchiveSummary: Hashable, Sendable {
    /// The file's name, without the directory.
    package let name: String
    package let header: ArchiveHeader
    package let events: UInt64
    /// The seqs of the first and the last event; 0 without events.
    package let first: UInt64
    package let last: UInt64
    /// The size of the file.
    package let bytes: UInt64
    /// The size of the events before compression.
    package let rawBytes: UInt64
}

/// Tells archives of one store from those of another; 16 bytes that the store derives from its secret key.
package struct StoreIdentity: Hashable, Sendable {
    /// The identity of an archive that fits every store.
    package static let none = StoreIdentity(0, 0)

    package let first: UInt64
    package let second: UInt64

    package init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }
}
