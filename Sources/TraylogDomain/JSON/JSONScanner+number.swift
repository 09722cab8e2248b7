extension JSONScanner {
    /// A number, read as an unsigned integer.
    package enum Integer: Hashable, Sendable {
        case value(UInt64)
        case negative
        /// The number has a fraction.
        case fractional
        /// The number is above 2⁶⁴ − 1.
        case tooLarge
    }

    /// Reads a number.
    ///
    /// `5.0`, `50e-1` and `-0` are integers, because programs with only one kind of number print them so.
    /// The value is exact; no floating point is involved.
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

    /// Skips a number and returns its range.
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

/// A JSON number in its parts: digits without zeros around them, times a power of ten.
struct JSONDecimal {
    private var isNegative = false
    /// The significant digits without leading zeros.
    ///
    /// Once they pass 2⁶⁴ it is some number above 0, and ``isLong`` is set.
    private var digits: UInt64 = 0
    private var isLong = false
    /// Zeros after ``digits``, which count only when another digit follows.
    private var pendingZeros = 0
    private var exponent = 0

    /// Reads a number that the scanner has checked.
    init(_ number: Span<UInt8>) {
        var index = 0
        var isFraction = false
        while index < number.count {
            switch number[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent &+= JSONDecimal.power(number, from: index &+ 1)
                return
            case let byte:
                append(byte &- UInt8(ascii: "0"))
                if isFraction { exponent &-= 1 }
            }
            index &+= 1
        }
    }

    /// The power of ten after the `e`, at most a billion.
    private static func power(_ number: Span<UInt8>, from start: Int) -> Int {
        var power = 0
        for index in start..<number.count where number[index] >= UInt8(ascii: "0") {
            power = min(power &* 10 &+ Int(number[index] &- UInt8(ascii: "0")), 1_000_000_000)
        }
        return number[start] == UInt8(ascii: "-") ? -power : power
    }

    private mutating func append(_ digit: UInt8) {
        guard digit != 0 else {
            if digits != 0 { pendingZeros &+= 1 }
            return
        }
        for _ in 0...pendingZeros where !isLong {
            let (product, overflow) = digits.multipliedReportingOverflow(by: 10)
            if overflow { isLong = true } else { digits = product }
        }
        let (sum, carry) = digits.addingReportingOverflow(UInt64(digit))
        if carry { isLong = true } else { digits = sum }
        pendingZeros = 0
    }

    /// The number as an unsigned integer.
    var integer: JSONScanner.Integer {
        if digits == 0 { return .value(0) }
        var power = exponent &+ pendingZeros
        if power < 0 { return .fractional }
        if isNegative { return .negative }
        var value = digits
        while power > 0, !isLong {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            if overflow { return .tooLarge }
            value = product
            power &-= 1
        }
        return isLong ? .tooLarge : .value(value)
    }
}
