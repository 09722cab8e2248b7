/// Writes JSON's strings.
package enum JSONString {
    /// Appends a string in quotes, escaped only where RFC 8259 demands it.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        if isPlain(text.utf8Span.span) {
            bytes.append(contentsOf: text.utf8)
        } else {
            for byte in text.utf8 { appendEscaped(byte, to: &bytes) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether nothing has to be escaped.
    private static func isPlain(_ text: Span<UInt8>) -> Bool {
        var offset = 0
        while offset &+ 8 <= text.count {
            let word = text.word(at: offset)
            let matches =
                ByteSearch.equal(word, to: UInt8(ascii: "\"")) | ByteSearch.equal(word, to: UInt8(ascii: "\\"))
                | ByteSearch.below(0x20, in: word)
            if matches != 0 { return false }
            offset &+= 8
        }
        while offset < text.count {
            if mustEscape(text[offset]) { return false }
            offset &+= 1
        }
        return true
    }

    @inline(__always)
    private static func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
        guard mustEscape(byte) else { return bytes.append(byte) }
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default:
            bytes.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
            let low = byte & 0x0f
            bytes.append(low < 10 ? UInt8(ascii: "0") &+ low : UInt8(ascii: "a") &+ low &- 10)
        }
    }
}
