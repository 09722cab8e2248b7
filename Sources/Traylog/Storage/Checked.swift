import TraylogDomain
import TraylogLog

/// Rows that carry their own checksum: bytes, then CRC-32C over key and bytes, little-endian.
enum Checked {
    static let checksumBytes = 4

    /// Appends the checksum of a value that stands in `bytes` from `start` on, right behind its key.
    static func seal(_ bytes: inout [UInt8], from start: Int) {
        let crc = crc32c(RawSpan(_elements: bytes.span).extracting(start...))
        append(crc, to: &bytes)
    }

    /// Appends the checksum of `value` under `key`.
    static func seal(_ value: inout [UInt8], key: RawSpan) {
        append(crc32c(RawSpan(_elements: value.span), from: crc32c(key)), to: &value)
    }

    private static func append(_ crc: UInt32, to value: inout [UInt8]) {
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
