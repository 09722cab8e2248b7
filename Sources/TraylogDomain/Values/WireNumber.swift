/// A whole number as somebody outside said it: in a header, a path, a query, a body, a file, an option or an environment variable.
///
/// Swift's arithmetic and conversions end the process where a result does not fit, and a stranger chooses the worst number. So this
/// type has none: it can be compared, clamped, or taken as a number of the program within bounds that the program names.
///
/// ```swift
/// let limit = WireNumber("20")?.within(1...100)
/// print(limit ?? 50)
/// ```
///
/// Event numbers are ``Seq``, whose `+` and `-` saturate; ``seq`` makes one.
@_spi(Wire) public struct WireNumber: Hashable, Comparable, Sendable {
    private let value: UInt64

    /// Reads decimal digits and nothing else, neither a sign nor a point; nil for other text, and for more than 64 bits.
    public init?(_ digits: some StringProtocol) {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            let value = UInt64(digits)
        else { return nil }
        self.value = value
    }

    /// The number, as one of the program's; nil outside the bounds.
    public func within<Number: FixedWidthInteger>(_ bounds: ClosedRange<Number>) -> Number? {
        guard let number = Number(exactly: value), bounds.contains(number) else { return nil }
        return number
    }

    /// The nearest number within the bounds.
    public func clamped<Number: FixedWidthInteger>(to bounds: ClosedRange<Number>) -> Number {
        min(max(Number(clamping: value), bounds.lowerBound), bounds.upperBound)
    }

    /// Reads a number of JSON; `5.0` and `50e-1` are whole, because programs with only one kind of number print them so.
    ///
    /// - Returns: nil for a number that is negative, has a fraction or needs more than 64 bits, and for text that is no number.
    public init?(json digits: String) {
        let bytes = Array(digits.utf8)
        var scanner = JSONScanner()
        guard let number = try? scanner.integer(in: bytes.span), scanner.offset == bytes.count,
            case .value(let value) = number
        else { return nil }
        self.value = value
    }

    /// The event of this number.
    public var seq: Seq { Seq(value) }

    /// The number after this one; the largest has none, and stays.
    public var next: WireNumber { self < Self.largest ? WireNumber(unchecked: value + 1) : self }

    private static let largest = WireNumber(unchecked: .max)

    private init(unchecked value: UInt64) { self.value = value }

    /// Whether the left one is smaller.
    public static func < (left: WireNumber, right: WireNumber) -> Bool { left.value < right.value }
}

@_spi(Wire) extension WireNumber: CustomStringConvertible {
    /// The number in digits.
    public var description: String { String(value) }
}

@_spi(Wire) extension WireNumber: ExpressibleByIntegerLiteral {
    /// A number of the program, to compare with.
    public init(integerLiteral value: UInt64) { self.init(unchecked: value) }
}

/// A time span in seconds as somebody outside said it, such as `Retry-After` or an interval; never negative, infinite or no number.
///
/// Like ``WireNumber``, it gives a value of the program only within bounds that the program names.
@_spi(Wire) public struct WireSeconds: Hashable, Comparable, Sendable {
    private let value: Double

    /// Reads digits with an optional fraction, such as `2` or `0.5`; nil for other text, exponents and signs included.
    public init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard
            parts.allSatisfy({ part in
                !part.isEmpty && part.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            })
        else { return nil }
        self.init(Double(String(text)))
    }

    /// A number that a caller computed; nil if it is negative, infinite or no number.
    public init?(_ seconds: Double?) {
        guard let seconds, seconds.isFinite, seconds >= 0 else { return nil }
        value = seconds
    }

    /// The nearest span within the bounds.
    public func clamped(to bounds: ClosedRange<Duration>) -> Duration {
        // A span of this size is still one that `Duration` can hold.
        min(max(.seconds(min(value, Self.longest)), bounds.lowerBound), bounds.upperBound)
    }

    /// 31 years.
    private static let longest: Double = 1e9

    /// Whether the left one is shorter.
    public static func < (left: WireSeconds, right: WireSeconds) -> Bool { left.value < right.value }
}
