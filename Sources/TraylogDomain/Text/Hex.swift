@_spi(Operations) extension Sequence<UInt8> {
    /// Two hexadecimal digits for each byte, in lower case.
    public var hex: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            for digit in [byte >> 4, byte & 15] { digits.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

@_spi(Operations) extension FixedWidthInteger where Self: UnsignedInteger {
    /// All hexadecimal digits, in lower case.
    public var hex: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}

@_spi(Operations) extension [UInt8] {
    /// The bytes of a text that has two hexadecimal digits for each, of either case; nil for any other text.
    public init?(hex text: some StringProtocol) {
        let digits = Array<UInt8>(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        self = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(ofDigit: digits[index]), let low = Self.value(ofDigit: digits[index + 1]) else {
                return nil
            }
            append(high << 4 | low)
        }
    }

    /// The value of a hexadecimal digit; nil for any other byte.
    static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
