@_spi(Operations) import Traylog
import TraylogCLibrary

extension Timestamp {
    /// Date and time to the second in the local time zone: `2026-02-28 14:03:22`.
    var localText: String {
        var seconds = wholeSeconds
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return "\(milliseconds) ms" }
        let date = unsafe "\(parts.tm_year + 1_900)-\(twoDigits(parts.tm_mon + 1))-\(twoDigits(parts.tm_mday))"
        let time = unsafe "\(twoDigits(parts.tm_hour)):\(twoDigits(parts.tm_min)):\(twoDigits(parts.tm_sec))"
        return "\(date) \(time)"
    }

    /// Seconds since 1970, rounded down.
    fileprivate var wholeSeconds: time_t {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return time_t(rest < 0 ? seconds - 1 : seconds)
    }
}

/// The time zone of all times that people read.
enum LocalZone {
    /// Its name, or both where the clock is changed in summer: `UTC`, `CET/CEST`.
    static let name: String = {
        tzset()
        // The first days of January and July of 2026.
        let january = abbreviation(at: Timestamp(milliseconds: 1_767_268_800_000))
        let july = abbreviation(at: Timestamp(milliseconds: 1_782_907_200_000))
        return january == july ? january : "\(january)/\(july)"
    }()

    /// How far its clocks are ahead of UTC at a time.
    static func secondsFromUTC(at time: Timestamp) -> Int64 {
        var seconds = time.wholeSeconds
        var parts = unsafe tm()
        guard unsafe localtime_r(&seconds, &parts) != nil else { return 0 }
        return Int64(unsafe parts.tm_gmtoff)
    }

    /// Its name at a time.
    static func abbreviation(at time: Timestamp) -> String {
        var seconds = time.wholeSeconds
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

extension TypedTime {
    /// Times and numbers as somebody at this machine types them.
    static var local: TypedTime {
        TypedTime(zoneName: { LocalZone.abbreviation(at: $0) }, secondsFromUTC: { LocalZone.secondsFromUTC(at: $0) })
    }
}

extension Timestamp {
    /// Reads a time in the local time zone as the tables print it; see ``TypedTime/time(_:)``.
    init?(local text: String) {
        guard let time = TypedTime.local.time(text) else { return nil }
        self = time
    }
}
