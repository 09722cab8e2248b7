import TraylogDomain

/// Bytes taken apart: pieces with their length in front (u16, little-endian), and numbers; at the end all are 0.
struct FuzzInput {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { offset >= bytes.count }

    mutating func byte() -> UInt8 {
        guard offset < bytes.count else { return 0 }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func piece() -> [UInt8] {
        let count = Int(byte()) | Int(byte()) << 8
        let end = min(offset + count, bytes.count)
        defer { offset = end }
        return Array(bytes[offset..<end])
    }

    /// A small number, one near to `seq`, or an extreme one.
    mutating func number(near seq: UInt64) -> UInt64 {
        let byte = byte()
        switch byte >> 6 {
        case 0: return UInt64(byte)
        case 1: return seq &- UInt64(byte & 0x3f)
        case 2: return seq &+ UInt64(byte & 0x3f)
        default: return UInt64.max >> UInt64(byte & 0x3f)
        }
    }

    /// What ``piece()`` takes.
    static func piece(_ bytes: [UInt8]) -> [UInt8] {
        let bytes = bytes.prefix(0xffff)
        return [UInt8(bytes.count & 0xff), UInt8(bytes.count >> 8)] + bytes
    }
}
