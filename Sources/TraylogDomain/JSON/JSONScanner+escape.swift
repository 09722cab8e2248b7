extension JSONScanner {
    /// Passes an escape, surrogate pairs as one, and answers the character that it stands for.
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
        // A half: it must be the high one, with the low one right behind it.
        guard unit < 0xdc00, skip(UInt8(ascii: "\\"), in: bytes), peek(in: bytes) == UInt8(ascii: "u") else {
            throw JSONFault(.loneSurrogate, at: start)
        }
        let low = try codeUnit(in: bytes, from: start)
        guard low >= 0xdc00, low < 0xe000,
            let scalar = Unicode.Scalar(0x1_0000 &+ (unit &- 0xd800) &<< 10 &+ (low &- 0xdc00))
        else { throw JSONFault(.loneSurrogate, at: start) }
        return scalar
    }

    /// Passes `u` and four hexadecimal digits.
    private mutating func codeUnit(in bytes: Span<UInt8>, from start: Int) throws(JSONFault) -> UInt32 {
        offset &+= 1
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = JSONScanner.hexValue(peek(in: bytes)) else {
                throw offset < bytes.count ? JSONFault(.badEscape, at: start) : fault(.endsEarly, in: bytes)
            }
            unit = unit &<< 4 | digit
            offset &+= 1
        }
        return unit
    }

    private static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &- UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte &- UInt8(ascii: "a") &+ 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte &- UInt8(ascii: "A") &+ 10)
        default: nil
        }
    }

    /// The value of a string with escapes, which the scanner has passed once already.
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
