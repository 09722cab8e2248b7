import Traylog
import TraylogCLibrary

extension Timestamp {
    /// Date and time to the second in the local time zone: `2026-02-28 14:03:22`.
    var localText: String {
        var seconds = time_t((Double(milliseconds) / 1_000).rounded(.down))
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return "\(milliseconds) ms" }
        let date = unsafe "\(parts.tm_year + 1_900)-\(twoDigits(parts.tm_mon + 1))-\(twoDigits(parts.tm_mday))"
        let time = unsafe "\(twoDigits(parts.tm_hour)):\(twoDigits(parts.tm_min)):\(twoDigits(parts.tm_sec))"
        return "\(date) \(time)"
    }
}

/// The time zone of all times that people read.
enum LocalZone {
    /// Its name, or both where the clock is changed in summer: `UTC`, `CET/CEST`.
    static let name: String = {
        tzset()
        let january = Timestamp(local: "2026-01-01").map(abbreviation) ?? "local"
        let july = Timestamp(local: "2026-07-01").map(abbreviation) ?? january
        return january == july ? january : "\(january)/\(july)"
    }()

    /// Its name at a time.
    static func abbreviation(at time: Timestamp) -> String {
        var seconds = time_t((Double(time.milliseconds) / 1_000).rounded(.down))
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil, let name = unsafe parts.tm_zone else { return "local" }
        return unsafe String(cString: name)
    }
}

extension Timestamp {
    /// The same with the zone, for a place without a heading that says it.
    var zonedText: String { "\(localText) \(LocalZone.abbreviation(at: self))" }
}

private func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

extension Timestamp {
    /// Reads a time in the local time zone as the tables print it: `2026-02-28 14:03:22`, also without seconds, without the
    /// time of day (then the day's beginning), with `T` in between, or with the zone's name behind it; nil when the text is
    /// none.
    init?(local text: String) {
        if let space = text.lastIndex(of: " "), let time = Timestamp(local: String(text[..<space]) as String?),
            text[text.index(after: space)...] == LocalZone.abbreviation(at: time)
        {
            self = time
            return
        }
        guard let time = Timestamp(local: text as String?) else { return nil }
        self = time
    }

    /// The same without a zone's name.
    private init?(local text: String?) {
        guard let text else { return nil }
        let fields = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == " " || $0 == "T" }
        guard let date = Timestamp.numbers(fields[0], separator: "-", widths: [4, 2, 2]) else { return nil }
        var clock: [Int32] = [0, 0, 0]
        if fields.count == 2 {
            guard
                let given = Timestamp.numbers(fields[1], separator: ":", widths: [2, 2, 2])
                    ?? Timestamp.numbers(fields[1], separator: ":", widths: [2, 2])
            else { return nil }
            clock.replaceSubrange(0..<given.count, with: given)
        }
        var parts = unsafe tm()
        unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday) = (date[0] - 1_900, date[1] - 1, date[2])
        unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (clock[0], clock[1], clock[2], -1)
        let seconds = unsafe mktime(&parts)
        self.init(milliseconds: Int64(seconds) * 1_000)
        // Only a date that exists is printed as it was given: the 30th of February is not, nor an hour that a clock skips.
        let printed = unsafe [
            parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
        ]
        guard printed == date + clock else { return nil }
    }

    /// The beginning of the day that is so many days before today, in the local time zone.
    static func dayBeginning(daysAgo: Int32) -> Timestamp {
        var seconds = time(nil)
        var parts = unsafe tm()
        unsafe localtime_r(&seconds, &parts)
        unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (0, 0, 0, -1)
        unsafe parts.tm_mday -= daysAgo
        return Timestamp(milliseconds: Int64(unsafe mktime(&parts)) * 1_000)
    }

    private static func numbers(_ text: Substring, separator: Character, widths: [Int]) -> [Int32]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == widths,
            parts.allSatisfy({ $0.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) })
        else { return nil }
        return parts.compactMap { Int32($0) }
    }
}
