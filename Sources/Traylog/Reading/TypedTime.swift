@_spi(Wire) import TraylogDomain

/// Reads times and numbers as people type them, or copy them from a table or a page.
///
/// The command line and the console share it, so each accepts what the other prints.
///
/// ```swift
/// let typed = TypedTime(secondsFromUTC: { _ in 3_600 })
/// let event = typed.moment("226,462")             // event 226462
/// let moment = typed.moment("2026-02-28 14:03")   // in the reader's zone, here 13:03 UTC
/// let past = typed.moment("2h")                   // two hours ago
/// ```
@_spi(Operations) public struct TypedTime {
    /// The forms that a field accepts, as a message names them.
    public static let forms =
        "an event number, or a time such as 2026-11-22 09:00, 2026-11-22T09:00:00Z, 2h, today or yesterday"

    private let secondsFromUTC: (Timestamp) -> Int64
    private let zoneName: (Timestamp) -> String?
    private let now: Timestamp

    /// - Parameters:
    ///   - zoneName: the name of the reader's zone at a time, which may stand behind a time; `UTC` may in any zone.
    ///   - now: the time that `2h` and `today` count from.
    ///   - secondsFromUTC: how far the clocks of the reader's zone are ahead of UTC at a time.
    public init(
        now: Timestamp = .now, zoneName: @escaping (Timestamp) -> String? = { _ in nil },
        secondsFromUTC: @escaping (Timestamp) -> Int64
    ) {
        (self.now, self.zoneName, self.secondsFromUTC) = (now, zoneName, secondsFromUTC)
    }

    /// Times without a zone are UTC.
    public static var utc: TypedTime { TypedTime(secondsFromUTC: { _ in 0 }) }

    /// An event, by its number, or a time: ``time(_:)``, ``timeAgo(_:)``; nil when the text is neither.
    public func moment(_ text: String) -> Moment? {
        let text = Self.trimmed(text)
        if let number = Self.number(text) { return .seq(number.seq) }
        return (time(text) ?? timeAgo(text)).map(Moment.time)
    }

    /// A number, also with its digits in groups of three: `226462`, `226,462`, `226 462`; nil for other texts.
    @_spi(Wire) public static func number(_ text: String) -> WireNumber? {
        let text = trimmed(text)
        let groups = text.split(omittingEmptySubsequences: false) { ", \u{a0}\u{202f}".contains($0) }
        let areDigits = groups.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }
        guard areDigits else { return nil }
        if groups.count > 1 {
            guard groups[0].utf8.count <= 3, groups.dropFirst().allSatisfy({ $0.utf8.count == 3 }) else { return nil }
        }
        return WireNumber(groups.joined())
    }

    /// A time in RFC 3339, or a date with or without a time of day in the reader's zone: `2026-02-28 14:03:22`,
    /// `2026-02-28T14:03`, `2026-02-28`, also with the zone's name or `UTC` behind it.
    ///
    /// A date alone is the first moment of its day, also where the clocks skip midnight. Nil for other texts, and for a time of
    /// day that the clocks skip.
    public func time(_ text: String) -> Timestamp? {
        if let time = Timestamp(text) { return time }
        if let space = text.lastIndex(of: " ") {
            let (front, name) = (String(text[..<space]), text[text.index(after: space)...])
            if name == "UTC" { return Self.civil(front) }
            if let time = local(front), zoneName(time).map({ $0 == name }) ?? false { return time }
        }
        return local(text)
    }

    /// `90s`, `30m`, `2h`, `3d`, `1w`: the time that long ago, also as `3 min ago`; `today`, `yesterday`: the beginning of the day
    /// in the reader's zone; `now`.
    public func timeAgo(_ text: String) -> Timestamp? {
        switch text {
        case "now": return now
        case "today": return dayBeginning(daysAgo: 0)
        case "yesterday": return dayBeginning(daysAgo: 1)
        default: break
        }
        let units: [String: Int64] = ["s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        let words = text.hasSuffix(" ago") ? text.dropLast(4) : text[...]
        let digits = words.prefix { "0"..."9" ~= $0 }
        let unit = words.dropFirst(digits.count).drop { $0 == " " }
        guard let number = UInt32(digits), let seconds = units[String(unit)] else { return nil }
        return Timestamp(milliseconds: now.milliseconds &- Int64(number) * seconds * 1_000)
    }

    /// The beginning of the day that number of days before today, in the reader's zone.
    private func dayBeginning(daysAgo: Int64) -> Timestamp? {
        let shown = shown(at: now.milliseconds)
        let day = shown - ((shown % 86_400_000) + 86_400_000) % 86_400_000 - daysAgo * 86_400_000
        return instant(ofCivil: day) ?? firstInstant(notBeforeCivil: day)
    }

    private func local(_ text: String) -> Timestamp? {
        guard let civil = Self.civil(text)?.milliseconds else { return nil }
        return instant(ofCivil: civil) ?? (text.utf8.count == 10 ? firstInstant(notBeforeCivil: civil) : nil)
    }

    /// What the zone's clocks show at an instant, both in milliseconds.
    private func shown(at instant: Int64) -> Int64 {
        instant + secondsFromUTC(Timestamp(milliseconds: instant)) * 1_000
    }

    /// The instant at which the zone's clocks, which skip a time, go on behind it.
    private func firstInstant(notBeforeCivil civil: Int64) -> Timestamp? {
        // No zone is two days from UTC.
        var (before, after) = (civil - 172_800_000, civil + 172_800_000)
        guard shown(at: before) < civil, shown(at: after) >= civil else { return nil }
        while after - before > 1 {
            let middle = before + (after - before) / 2
            if shown(at: middle) < civil { before = middle } else { after = middle }
        }
        return Timestamp(milliseconds: after)
    }

    /// The instant at which the zone's clocks show this time, the earlier of two; nil where they skip it.
    private func instant(ofCivil civil: Int64) -> Timestamp? {
        let offsets = [-86_400_000, 0, 86_400_000].map { secondsFromUTC(Timestamp(milliseconds: civil + $0)) * 1_000 }
        return offsets.map { civil - $0 }.sorted().map(Timestamp.init(milliseconds:))
            .first { $0.milliseconds + secondsFromUTC($0) * 1_000 == civil }
    }

    /// Reads date and time as if they were UTC.
    private static func civil(_ text: String) -> Timestamp? {
        let isDate = text.utf8.count == 10
        guard isDate || text.utf8.count == 16 || text.utf8.count == 19 else { return nil }
        let bytes = Array(text.utf8)
        if !isDate, bytes[10] != UInt8(ascii: "T"), bytes[10] != UInt8(ascii: " ") { return nil }
        // A leap second is no time of day that a clock shows.
        if bytes.count == 19, bytes[17] > UInt8(ascii: "5") { return nil }
        return Timestamp(text + (isDate ? "T00:00:00Z" : bytes.count == 16 ? ":00Z" : "Z"))
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
