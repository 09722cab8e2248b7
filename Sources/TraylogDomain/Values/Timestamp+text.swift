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
        if date.year < 0 || date.year > 9_999 {
            bytes.append(UInt8(ascii: date.year < 0 ? "-" : "+"))
            Timestamp.append(date.year.magnitude, width: 6, to: &bytes)
        } else {
            Timestamp.append(date.year.magnitude, width: 4, to: &bytes)
        }
        Timestamp.append("-", date.month, to: &bytes)
        Timestamp.append("-", date.day, to: &bytes)
        Timestamp.append("T", rest / 3_600_000, to: &bytes)
        Timestamp.append(":", rest / 60_000 % 60, to: &bytes)
        Timestamp.append(":", rest / 1_000 % 60, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        Timestamp.append((rest % 1_000).magnitude, width: 3, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
    }

    @inline(__always)
    private static func append(_ separator: Unicode.Scalar, _ twoDigits: Int64, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: separator))
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: twoDigits / 10))
        bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: twoDigits % 10))
    }

    private static func append(_ value: UInt64, width: Int, to bytes: inout [UInt8]) {
        let start = bytes.count
        var value = value
        while value > 0 || bytes.count < start &+ width {
            bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10))
            value /= 10
        }
        bytes[start...].reverse()
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String { rfc3339 }
}
