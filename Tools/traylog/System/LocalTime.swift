import Traylog

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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

private func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
