import TraylogDomain

/// A span of time, for operators: `90s`, `30m`, `2h`, `3d`, `1w`.
@_spi(Operations) public struct Age: Hashable, Sendable, Codable {
    /// Its length, below 0 for the time until something.
    public let milliseconds: Int64

    /// Reads a whole number with its unit; nil for any other text.
    public init?(_ text: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = UInt32(text.dropLast()) else { return nil }
        milliseconds = Int64(number) * unit * 1_000
    }

    /// An age of so many milliseconds.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// How long before `now` a time is, below 0 for a later one; it stops at the largest numbers, because a stored time may be
    /// any.
    public init(of time: Timestamp, at now: Timestamp) {
        let (age, overflow) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        milliseconds = overflow ? (time < now ? .max : -.max) : max(age, -.max)
    }

    /// Whether it is the time until something.
    public var isNegative: Bool { milliseconds < 0 }

    /// From the later time to the earlier one.
    public var reversed: Age { Age(milliseconds: -max(milliseconds, -.max)) }

    /// In the largest unit that leaves a number of two digits or so: `3 min`.
    public var words: String {
        let seconds = max(milliseconds, 0) / 1_000
        for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "min")] as [(Int64, String)] where seconds >= 2 * unit {
            return "\(seconds / unit) \(name)"
        }
        return "\(seconds) s"
    }
}
