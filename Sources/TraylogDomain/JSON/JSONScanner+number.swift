extension JSONScanner {
    /// A number as a program meant it that wants an unsigned integer.
    package enum Integer: Hashable, Sendable {
        case value(UInt64)
        case negative
        /// It has a fraction.
        case fractional
        /// Above 2⁶⁴ − 1.
        case tooLarge
    }

    /// Passes a number and answers it.
    ///
    /// `5.0`, `50e-1` and `-0` are integers: many programs have only one kind of number and print them so.
    /// The value is exact; nothing goes through floating point.
    package mutating func integer(in bytes: Span<UInt8>) throws(JSONFault) -> Integer {
        let number = try number(in: bytes)
        var value: UInt64 = 0
        for index in number {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return JSONDecimal(bytes.extracting(number)).integer }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            if overflow || carry { return JSONDecimal(bytes.extracting(number)).integer }
            value = sum
        }
        return .value(value)
    }

    /// Passes a number and answers where it stands.
    package mutating func number(in bytes: Span<UInt8>) throws(JSONFault) -> Range<Int> {
        let start = offset
        _ = skip(UInt8(ascii: "-"), in: bytes)
        if skip(UInt8(ascii: "0"), in: bytes) {
            if isDigit(peek(in: bytes)) { throw JSONFault(.leadingZero, at: offset &- 1) }
        } else {
            try digits(in: bytes)
        }
        if skip(UInt8(ascii: "."), in: bytes) { try digits(in: bytes) }
        if peek(in: bytes) | 0x20 == UInt8(ascii: "e") {
            offset &+= 1
            if !skip(UInt8(ascii: "+"), in: bytes) { _ = skip(UInt8(ascii: "-"), in: bytes) }
            try digits(in: bytes)
        }
        return start..<offset
    }

    private mutating func digits(in bytes: Span<UInt8>) throws(JSONFault) {
        guard isDigit(peek(in: bytes)) else { throw fault(.noDigit, in: bytes) }
        while isDigit(peek(in: bytes)) { offset &+= 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9
    }
}
