import TraylogDomain

/// Appends JSON's scalars to bytes.
enum JSONText {
    /// Appends a string in quotes.
    static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        if isPlain(text.utf8Span.span) {
            bytes.append(contentsOf: text.utf8)
        } else {
            for byte in text.utf8 { appendEscaped(byte, to: &bytes) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a member's name that needs no escapes, with quotes, colon and, if asked for, a comma.
    static func append(name: String, comma: Bool, to bytes: inout [UInt8]) {
        let name = name.utf8Span.span
        bytes.append(addingCapacity: name.count &+ 4) { (output: inout OutputSpan<UInt8>) in
            if comma { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            for index in name.indices { output.append(name[index]) }
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
        }
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

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &bytes) }
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends JSON text with its line ends replaced by spaces.
    static func appendOneLine(_ json: String, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: json.utf8)
        for index in start..<bytes.count where bytes[index] == 0x0a || bytes[index] == 0x0d {
            bytes[index] = 0x20
        }
    }
}
