extension JSONScanner {
    /// A string between its quotes, as it stands in the text.
    package struct StringToken: Hashable, Sendable {
        package var range: Range<Int>
        package var hasEscapes: Bool
        package var isASCII: Bool
    }

    /// Passes a string and checks all of it.
    ///
    /// - Precondition: its opening quote is next.
    package mutating func skipString(in bytes: Span<UInt8>) throws(JSONFault) {
        let token = try stringToken(in: bytes)
        if !token.isASCII { try JSONScanner.checkUTF8(token.range, in: bytes) }
    }

    /// Passes a string and answers its value.
    ///
    /// - Precondition: its opening quote is next.
    package mutating func string(in bytes: Span<UInt8>) throws(JSONFault) -> String {
        let token = try stringToken(in: bytes)
        return try JSONScanner.text(of: token, in: bytes)
    }

    /// Passes a string without checking that it is UTF-8; ``text(of:in:)`` does that.
    ///
    /// - Precondition: its opening quote is next.
    package mutating func stringToken(in bytes: Span<UInt8>) throws(JSONFault) -> StringToken {
        let start = offset &+ 1
        var token = StringToken(range: start..<start, hasEscapes: false, isASCII: true)
        offset = start
        while true {
            offset = JSONScanner.plainEnd(from: offset, in: bytes)
            switch peek(in: bytes) {
            case UInt8(ascii: "\""):
                token.range = start..<offset
                offset &+= 1
                return token
            case UInt8(ascii: "\\"):
                token.hasEscapes = true
                _ = try escape(in: bytes)
            case 0x80...:
                token.isASCII = false
                offset = JSONScanner.nonASCIIEnd(from: offset, in: bytes)
            default:
                throw fault(.controlCharacter, in: bytes)
            }
        }
    }

    /// The value of a string.
    ///
    /// - Throws: ``JSONFault`` when it is not UTF-8.
    package static func text(of token: StringToken, in bytes: Span<UInt8>) throws(JSONFault) -> String {
        if token.hasEscapes { return try unescaped(token.range, in: bytes) }
        return try rawText(token.range, in: bytes)
    }

    /// The bytes of a range as a string, as they are.
    ///
    /// - Throws: ``JSONFault`` when they are not UTF-8.
    package static func rawText(_ range: Range<Int>, in bytes: Span<UInt8>) throws(JSONFault) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.extracting(range)))
        } catch {
            throw JSONFault(.invalidUTF8, at: range.lowerBound &+ error.byteOffsets.lowerBound)
        }
    }

    private static func checkUTF8(_ range: Range<Int>, in bytes: Span<UInt8>) throws(JSONFault) {
        do {
            _ = try UTF8Span(validating: bytes.extracting(range))
        } catch {
            throw JSONFault(.invalidUTF8, at: range.lowerBound &+ error.byteOffsets.lowerBound)
        }
    }

    /// Where the run of bytes ends that are ASCII and mean themselves.
    @inline(__always)
    private static func plainEnd(from start: Int, in bytes: Span<UInt8>) -> Int {
        var offset = start
        while offset &+ 8 <= bytes.count {
            let word = bytes.word(at: offset)
            let matches =
                ByteSearch.equal(word, to: UInt8(ascii: "\"")) | ByteSearch.equal(word, to: UInt8(ascii: "\\"))
                | ByteSearch.below(0x20, in: word) | ByteSearch.nonASCII(word)
            if matches != 0 { return offset &+ ByteSearch.firstMatch(matches) }
            offset &+= 8
        }
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x80 { break }
            offset &+= 1
        }
        return offset
    }

    private static func nonASCIIEnd(from start: Int, in bytes: Span<UInt8>) -> Int {
        var offset = start
        while offset < bytes.count, bytes[offset] >= 0x80 { offset &+= 1 }
        return offset
    }
}
