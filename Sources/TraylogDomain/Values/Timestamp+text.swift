extension Timestamp {
    /// The time in UTC as RFC 3339 writes it, always with three decimals: `2004-04-15T14:56:01.000Z`.
    ///
    /// Years outside of 0000…9999, which RFC 3339 lacks, get a sign and at least six digits, as in ECMAScript:
    /// `+010000-01-01T00:00:00.000Z`. Such text is not read back.
    public var rfc3339: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        appendRFC3339(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends ``rfc3339``, without allocating anything but the array's growth.
    package func appendRFC3339(to bytes: inout [UInt8]) {
        let dayLength: Int64 = 86_400_000
        var (days, rest) = rawValue.quotientAndRemainder(dividingBy: dayLength)
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

    /// At least `width` digits.
    private static func append(_ value: Int64, width: Int, to output: inout OutputSpan<UInt8>) {
        if width > 1 || value > 9 { append(value / 10, width: width &- 1, to: &output) }
        output.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10))
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String { rfc3339 }
}
