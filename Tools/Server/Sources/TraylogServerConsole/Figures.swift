@_spi(Wire) import Traylog

/// Times as pages show them: UTC, which a script turns into the browser's zone.
enum Moments {
    /// `2026-11-22 09:00:00 UTC`.
    static func text(_ time: Timestamp) -> String {
        time.description.prefix(19).replacing("T", with: " ") + " UTC"
    }

    /// Whether a caller claims another second than that in which the log recorded it.
    static func isClaimed(_ occurredAt: Timestamp?, recordedAt: Timestamp) -> Bool {
        occurredAt.map { $0.milliseconds / 1_000 != recordedAt.milliseconds / 1_000 } ?? false
    }
}

/// Numbers as people read them.
enum Figures {
    /// Digits in groups of three.
    static func count(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0, digits[index - 1] != "-" { text += "," }
            text.append(digit)
        }
        return text
    }

    static func count(_ number: WireNumber) -> String { count(number.clamped(to: 0...UInt64.max)) }

    /// `1 event`, `2,100 events`.
    static func count(_ number: some BinaryInteger, _ thing: String) -> String {
        "\(count(number)) \(thing)\(number == 1 ? "" : "s")"
    }

    static func bytes(_ number: WireNumber) -> String { bytes(number.clamped(to: 0...UInt64.max)) }

    static func bytes(_ number: UInt64) -> String {
        var (value, unit) = (Double(number), 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1_024, unit + 1 < units.count { (value, unit) = (value / 1_024, unit + 1) }
        return unit == 0 ? "\(number) B" : "\(Double(Int(value * 10)) / 10) \(units[unit])"
    }
}
