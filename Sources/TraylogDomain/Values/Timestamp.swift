/// A moment in milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970 began, in UTC.
    public var milliseconds: Int64

    /// The time that many milliseconds after 1970 began, in UTC.
    @inlinable
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Whether the left one comes first.
    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}

extension Timestamp: LosslessStringConvertible {
    /// The time in UTC in the form of RFC 3339, always with three decimals: `2004-04-15T14:56:01.000Z`.
    ///
    /// RFC 3339 lacks years outside of 0000…9999. They get a sign and at least six digits, as in ECMAScript:
    /// `+010000-01-01T00:00:00.000Z`. Such text cannot be read back.
    public var description: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        appendRFC3339(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads an RFC 3339 time, such as `2004-04-15T16:56:01.25+02:00`; nil when the text is not one, or when the time in
    /// UTC is outside of the years 0000…9999.
    ///
    /// It accepts any offset and, as RFC 3339 allows, `t`, `z` and a space between date and time. A fraction is cut
    /// off after milliseconds. A leap second (`23:59:60` in UTC, at the end of a month) becomes the second after it, as
    /// POSIX counts.
    public init?(_ text: String) { self.init(text.utf8Span.span) }

    /// Reads an RFC 3339 time from a request or an argument, and refuses any other text by name.
    ///
    /// ```swift
    /// let content = Content(title: "Sale", expiresAt: try Timestamp(parsing: text, field: "expiresAt"))
    /// ```
    ///
    /// - Parameters:
    ///   - text: where it is no such time, it is refused.
    ///   - field: the name that the refusal has.
    /// - Throws: ``TraylogError``: refused `invalid`.
    public init(parsing text: String, field: String = "time") throws(TraylogError) {
        guard let time = Timestamp(text) else {
            throw .refused(.invalid(field: field, reason: "must be a time in RFC 3339, such as 2004-04-15T16:56:01Z"))
        }
        self = time
    }
}

extension Timestamp {
    /// Appends ``description``, without allocating anything but the array's growth.
    package func appendRFC3339(to bytes: inout [UInt8]) {
        let dayLength: Int64 = 86_400_000
        var (days, rest) = milliseconds.quotientAndRemainder(dividingBy: dayLength)
        if rest < 0 {
            days &-= 1
            rest &+= dayLength
        }
        let date = CivilDate(daysSinceEpoch: days)
        bytes.append(addingCapacity: 32) { (output: inout OutputSpan<UInt8>) in
            Timestamp.append(year: date.year, to: &output)
            Timestamp.append("-", date.month, to: &output)
            Timestamp.append("-", date.day, to: &output)
            Timestamp.append("T", rest / 3_600_000, to: &output)
            Timestamp.append(":", rest / 60_000 % 60, to: &output)
            Timestamp.append(":", rest / 1_000 % 60, to: &output)
            output.append(UInt8(ascii: "."))
            Timestamp.append(rest % 1_000, width: 3, to: &output)
            output.append(UInt8(ascii: "Z"))
        }
    }

    private static func append(year: Int64, to output: inout OutputSpan<UInt8>) {
        if year >= 0, year <= 9_999 { return append(year, width: 4, to: &output) }
        output.append(UInt8(ascii: year < 0 ? "-" : "+"))
        append(Int64(clamping: year.magnitude), width: 6, to: &output)
    }

    @inline(__always)
    private static func append(
        _ separator: Unicode.Scalar, _ twoDigits: Int64, to output: inout OutputSpan<UInt8>
    ) {
        output.append(UInt8(ascii: separator))
        output.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: twoDigits / 10))
        output.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: twoDigits % 10))
    }

    /// Appends at least `width` digits.
    private static func append(_ value: Int64, width: Int, to output: inout OutputSpan<UInt8>) {
        if width > 1 || value > 9 { append(value / 10, width: width &- 1, to: &output) }
        output.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10))
    }
}

extension Timestamp {
    /// The times that RFC 3339 can write in UTC: years 0000…9999.
    package static let rfc3339Range =
        Timestamp(milliseconds: -62_167_219_200_000)...Timestamp(milliseconds: 253_402_300_799_999)

    /// Reads an RFC 3339 time from bytes, under the rules for a string.
    package init?(_ text: Span<UInt8>) {
        guard text.count >= 20 else { return nil }
        // Of known length, so that the compiler drops the bounds checks.
        let head = text.extracting(0..<19)
        var digits = DigitReader()
        let date = CivilDate(
            year: digits.two(head, 0) &* 100 &+ digits.two(head, 2), month: digits.two(head, 5),
            day: digits.two(head, 8))
        let hour = digits.two(head, 11)
        let minute = digits.two(head, 14)
        let second = digits.two(head, 17)
        guard digits.areDigits, Timestamp.hasSeparators(head), date.isValid, hour < 24, minute < 60, second <= 60,
            let (milliseconds, zone) = Timestamp.fraction(text),
            let offset = Timestamp.offsetMinutes(text, from: zone)
        else { return nil }
        let minutes = date.daysSinceEpoch &* 1_440 &+ hour &* 60 &+ minute &- offset
        if second == 60, !Timestamp.endsMonth(minutes) { return nil }
        self.init(milliseconds: (minutes &* 60 &+ second) &* 1_000 &+ milliseconds)
        guard Timestamp.rfc3339Range.contains(self) else { return nil }
    }

    @inline(__always)
    private static func hasSeparators(_ head: Span<UInt8>) -> Bool {
        head[4] == UInt8(ascii: "-") && head[7] == UInt8(ascii: "-") && head[13] == UInt8(ascii: ":")
            && head[16] == UInt8(ascii: ":")
            && (head[10] | 0x20 == UInt8(ascii: "t") || head[10] == UInt8(ascii: " "))
    }

    /// The milliseconds after the seconds, and the index where the offset starts.
    private static func fraction(_ text: Span<UInt8>) -> (Int64, Int)? {
        guard text[19] == UInt8(ascii: ".") else { return (0, 19) }
        var milliseconds: Int64 = 0
        var weight: Int64 = 100
        var index = 20
        while index < text.count, text[index] &- UInt8(ascii: "0") <= 9 {
            milliseconds &+= Int64(text[index] &- UInt8(ascii: "0")) &* weight
            weight /= 10
            index &+= 1
        }
        return index > 20 && index < text.count ? (milliseconds, index) : nil
    }

    /// Minutes ahead of UTC; nil when the text from `start` on is not an offset.
    private static func offsetMinutes(_ text: Span<UInt8>, from start: Int) -> Int64? {
        if text[start] | 0x20 == UInt8(ascii: "z") { return start &+ 1 == text.count ? 0 : nil }
        guard text.count &- start == 6, text[start &+ 3] == UInt8(ascii: ":") else { return nil }
        var digits = DigitReader()
        let hours = digits.two(text, start &+ 1)
        let minutes = digits.two(text, start &+ 4)
        guard digits.areDigits, hours < 24, minutes < 60 else { return nil }
        switch text[start] {
        case UInt8(ascii: "+"): return hours &* 60 &+ minutes
        case UInt8(ascii: "-"): return 0 &- hours &* 60 &- minutes
        default: return nil
        }
    }

    /// Whether a minute (of UTC, since 1970) is the last one of a month: leap seconds come nowhere else.
    private static func endsMonth(_ minute: Int64) -> Bool {
        let (days, rest) = (minute &+ 1).quotientAndRemainder(dividingBy: 1_440)
        return rest == 0 && CivilDate(daysSinceEpoch: days).day == 1
    }
}

/// Reads decimal digits, and remembers whether all characters were digits.
private struct DigitReader {
    private var excess: UInt8 = 0

    var areDigits: Bool { excess == 0 }

    @inline(__always)
    mutating func two(_ text: Span<UInt8>, _ index: Int) -> Int64 {
        let tens = text[index] &- UInt8(ascii: "0")
        let ones = text[index &+ 1] &- UInt8(ascii: "0")
        if tens > 9 || ones > 9 { excess = 1 }
        return Int64(tens) &* 10 &+ Int64(ones)
    }
}
