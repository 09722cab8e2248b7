import TraylogLog

/// The first bytes of an archive: what is known before its events are (Docs/format.md, "Archives").
///
/// `magic 8 | version u32 | flags u32 | store 16 | through u64 | zeros 20 | crc u32`. Magic, version and checksum stay
/// where they are in all versions.
package struct ArchiveHeader: Hashable, Sendable {
    static let byteCount = 64
    static let version: UInt32 = 1
    static let magic: [UInt8] = Array("TRAYARC".utf8) + [0x1A]
    private static let checkedBytes = 60

    package let store: StoreIdentity
    /// The floor that the run moved the store to: every event in the archive is at or below it.
    package let through: UInt64

    package init(store: StoreIdentity, through: UInt64) {
        self.store = store
        self.through = through
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: Self.byteCount) { output in
            for byte in Self.magic { output.append(byte) }
            output.append(littleEndian: Self.version)
            output.append(littleEndian: UInt32(0))
            output.append(littleEndian: store.first)
            output.append(littleEndian: store.second)
            output.append(littleEndian: through)
            for _ in 0..<5 { output.append(littleEndian: UInt32(0)) }
        }
        bytes.appendChecksum()
        return bytes
    }

    /// - Parameter bytes: the first of the file, fewer than 64 when it has no more.
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
        guard version == Self.version, bytes.littleEndian(at: 12, as: UInt32.self) == 0 else {
            throw ArchiveError(
                .newer, path: path, "the archive was written by a newer version of Traylog (format \(version))")
        }
        return ArchiveHeader(
            store: StoreIdentity(bytes.littleEndian(at: 16), bytes.littleEndian(at: 24)),
            through: bytes.littleEndian(at: 32))
    }
}

extension [UInt8] {
    /// Appends the checksum of all bytes so far.
    mutating func appendChecksum() {
        let crc = crc32c(RawSpan(_elements: span))
        append(addingCapacity: 4) { $0.append(littleEndian: crc) }
    }
}
