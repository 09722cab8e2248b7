extension JSONScanner {
    /// The place of a string in the text, without its quotes.
    package struct StringToken: Hashable, Sendable {
        package var range: Range<Int>
        package var hasEscapes: Bool
        package var isASCII: Bool
    }

    /// Skips a string and checks all of it.
    ///
    /// - Precondition: its opening quote is next.
    package mutating func skipString(in bytes: Span<UInt8>) throws(JSONFault) {
        let token = try stringToken(in: bytes)
        if !token.isASCII { try JSONScanner.checkUTF8(token.range, in: bytes) }
    }

    /// Reads a string.
    ///
    /// - Precondition: its opening quote is next.
    package mutating func string(in bytes: Span<UInt8>) throws(JSONFault) -> String {
        let token = try stringToken(in: bytes)
        return try JSONScanner.text(of: token, in: bytes)
    }

    /// Skips a string without checking that it is UTF-8; ``text(of:in:)`` does that.
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

    /// The bytes of a range as a string, without looking at escapes.
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

    /// The end of a run of ASCII bytes that need no attention.
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

    /// Reads an escape; a surrogate pair counts as one.
    ///
    /// - Precondition: its backslash is next.
    mutating func escape(in bytes: Span<UInt8>) throws(JSONFault) -> Unicode.Scalar {
        let start = offset
        offset &+= 1
        let letter = peek(in: bytes)
        if letter == UInt8(ascii: "u") { return try unicodeEscape(in: bytes, from: start) }
        guard let scalar = JSONScanner.shortEscape(letter) else {
            throw offset < bytes.count ? JSONFault(.badEscape, at: start) : fault(.endsEarly, in: bytes)
        }
        offset &+= 1
        return scalar
    }

    private static func shortEscape(_ letter: UInt8) -> Unicode.Scalar? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(letter)
        case UInt8(ascii: "b"): "\u{08}"
        case UInt8(ascii: "f"): "\u{0c}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: nil
        }
    }

    private mutating func unicodeEscape(
        in bytes: Span<UInt8>, from start: Int
    ) throws(JSONFault) -> Unicode.Scalar {
        let unit = try codeUnit(in: bytes, from: start)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        // Half of a pair: it must be the high one, followed by the low one.
        guard unit < 0xdc00, skip(UInt8(ascii: "\\"), in: bytes), peek(in: bytes) == UInt8(ascii: "u") else {
            throw JSONFault(.loneSurrogate, at: start)
        }
        let low = try codeUnit(in: bytes, from: start)
        guard low >= 0xdc00, low < 0xe000,
            let scalar = Unicode.Scalar(0x1_0000 &+ (unit &- 0xd800) &<< 10 &+ (low &- 0xdc00))
        else { throw JSONFault(.loneSurrogate, at: start) }
        return scalar
    }

    /// Reads `u` and four hexadecimal digits.
    private mutating func codeUnit(in bytes: Span<UInt8>, from start: Int) throws(JSONFault) -> UInt32 {
        offset &+= 1
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = [UInt8].value(ofDigit: peek(in: bytes)) else {
                throw offset < bytes.count ? JSONFault(.badEscape, at: start) : fault(.endsEarly, in: bytes)
            }
            unit = unit &<< 4 | UInt32(digit)
            offset &+= 1
        }
        return unit
    }

    /// The value of a string with escapes that the scanner has checked.
    static func unescaped(_ range: Range<Int>, in bytes: Span<UInt8>) throws(JSONFault) -> String {
        var value: [UInt8] = []
        value.reserveCapacity(range.count)
        var scanner = JSONScanner()
        scanner.offset = range.lowerBound
        while scanner.offset < range.upperBound {
            let byte = bytes[scanner.offset]
            if byte == UInt8(ascii: "\\") {
                let scalar = try scanner.escape(in: bytes)
                value.append(contentsOf: String(Character(scalar)).utf8)
            } else {
                value.append(byte)
                scanner.offset &+= 1
            }
        }
        return try rawText(0..<value.count, in: value.span)
    }
}
