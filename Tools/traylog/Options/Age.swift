import ArgumentParser
import Traylog

/// A span of time: `90s`, `30m`, `2h`, `3d`, `1w`.
struct Age: ExpressibleByArgument {
    let milliseconds: Int64

    init?(argument text: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = UInt32(text.dropLast()) else { return nil }
        milliseconds = Int64(number) * unit * 1_000
    }

    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// How long before `now` a time is, below 0 for a later one; it stops at the largest numbers, because a stored time may be
    /// any.
    init(of time: Timestamp, at now: Timestamp) {
        let (age, overflow) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        milliseconds = overflow ? (time < now ? .max : -.max) : max(age, -.max)
    }

    var isNegative: Bool { milliseconds < 0 }

    /// From the later time to the earlier one.
    var reversed: Age { Age(milliseconds: -max(milliseconds, -.max)) }

    /// In the largest unit that leaves a number of two digits or so.
    var words: String {
        let seconds = max(milliseconds, 0) / 1_000
        for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "min")] as [(Int64, String)] where seconds >= 2 * unit {
            return "\(seconds / unit) \(name)"
        }
        return "\(seconds) s"
    }
}
