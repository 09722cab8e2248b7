import TraylogDomain
import TraylogLog

/// Rows that carry their own checksum: bytes, then CRC-32C over key and bytes, little-endian.
enum Checked {
    static let checksumBytes = 4

    /// Appends the checksum of everything in `value` from `start` on, under `key`.
    static func seal(_ value: inout [UInt8], from start: Int = 0, key: RawSpan) {
        let crc = crc32c(RawSpan(_elements: value.span).extracting(start...), from: crc32c(key))
        for shift in stride(from: UInt32(0), to: 32, by: 8) { value.append(UInt8(truncatingIfNeeded: crc >> shift)) }
    }

    /// The bytes before the checksum, when it is right.
    static func open(_ value: RawSpan, key: RawSpan) throws(PackedError) -> [UInt8] {
        let end = value.byteCount - checksumBytes
        guard end >= 0 else { throw .damaged("shorter than its checksum") }
        let content = value.extracting(0..<end)
        guard crc32c(content, from: crc32c(key)) == value.littleEndian(at: end, as: UInt32.self) else {
            throw .damaged("its checksum does not match")
        }
        var bytes: [UInt8] = []
        bytes.append(copying: content)
        return bytes
    }
}
