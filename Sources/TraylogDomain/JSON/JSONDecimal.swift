/// A JSON number taken apart: digits without zeros around them, times a power of ten.
struct JSONDecimal {
    private var isNegative = false
    /// The significant digits without leading zeros; once they pass 2⁶⁴, any number but 0, and ``isLong``.
    private var digits: UInt64 = 0
    private var isLong = false
    /// Zeros that stand behind ``digits``, to be counted only when another digit follows.
    private var pendingZeros = 0
    private var exponent = 0

    /// Reads a number that the scanner has passed.
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

    /// The power of ten behind the `e`; beyond a billion all are alike.
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
