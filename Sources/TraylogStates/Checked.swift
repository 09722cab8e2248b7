import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Rows that carry their own checksum: bytes, then CRC-32C over key and bytes, little-endian.
package enum Checked {
    package static let checksumBytes = 4

    /// Appends the checksum of a value that stands in `bytes` from `start` on, right behind its key.
    static func seal(_ bytes: inout [UInt8], from start: Int) {
        let crc = crc32c(RawSpan(_elements: bytes.span).extracting(start...))
        append(crc, to: &bytes)
    }

    /// Appends the checksum of `value` under `key`.
    package static func seal(_ value: inout [UInt8], key: RawSpan) {
        append(crc32c(RawSpan(_elements: value.span), from: crc32c(key)), to: &value)
    }

    private static func append(_ crc: UInt32, to value: inout [UInt8]) {
        for shift in stride(from: UInt32(0), to: 32, by: 8) { value.append(UInt8(truncatingIfNeeded: crc >> shift)) }
    }

    /// The bytes before the checksum, when it is right.
    package static func open(_ value: RawSpan, key: RawSpan) throws(PackedError) -> [UInt8] {
        try check(value, key: key)
        var bytes: [UInt8] = []
        bytes.append(copying: value.extracting(0..<value.byteCount - checksumBytes))
        return bytes
    }

    /// The contents of some values found under a key, of those that are whole: of several commits, perhaps.
    static func salvaged(_ values: [[UInt8]], key: [UInt8]) -> [[UInt8]] {
        values.compactMap { try? open(RawSpan(_elements: $0.span), key: RawSpan(_elements: key.span)) }
    }

    /// Makes sure that a key is not stored because it never was, and not because its bytes, or a neighbor's, changed.
    ///
    /// A changed key still stands where it stood, as long as the order of keys holds, which the storage layer sees to.
    /// So it is one of the two rows around the place where the key would stand, and its checksum tells.
    static func confirmAbsence(
        of key: RawSpan, in database: Database, _ transaction: borrowing ReadTransaction
    ) throws {
        try transaction.withCursor(database) { cursor in
            if try cursor.seek(key) { try cursor.withEntry { try check($1, key: $0) } }
            if try cursor.previous() { try cursor.withEntry { try check($1, key: $0) } }
        }
    }

    /// - Throws: ``PackedError`` when the checksum is not right.
    static func check(_ value: RawSpan, key: RawSpan) throws(PackedError) {
        let end = value.byteCount - checksumBytes
        guard end >= 0 else { throw .damaged("shorter than its checksum") }
        guard crc32c(value.extracting(0..<end), from: crc32c(key)) == value.littleEndian(at: end, as: UInt32.self)
        else {
            throw .damaged("its checksum does not match")
        }
    }
}
