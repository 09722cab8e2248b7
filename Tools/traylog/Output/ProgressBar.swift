import TerminalText

/// One line of standard error that says how far a long run is; silent when that is not a terminal.
///
/// It is redrawn at most ten times a second, and leaves no trace when it ends.
struct ProgressBar {
    /// How far a run is at one moment.
    struct Moment: Hashable {
        var count: UInt64
        /// 0…1; nil when the end is not known.
        var fraction: Double?
        var elapsed: Duration
    }

    private let label: String
    private let unit: String
    private let output: Descriptor?
    private let start = ContinuousClock.now
    private var drawn: ContinuousClock.Instant?
    private static let interval = Duration.milliseconds(100)

    init(_ label: String, unit: String, on descriptor: Descriptor = .standardError) {
        self.label = label
        self.unit = unit
        output = descriptor.isTerminal ? descriptor : nil
    }

    mutating func update(count: UInt64, fraction: Double?) {
        guard let output else { return }
        let now = ContinuousClock.now
        // Short runs show nothing.
        guard now - (drawn ?? start) >= Self.interval else { return }
        drawn = now
        let moment = Moment(count: count, fraction: fraction, elapsed: now - start)
        let columns = Terminal(output).columns - 1
        write(Self.text(label, unit: unit, at: moment, columns: columns), to: output)
    }

    /// Takes the line away, before other lines or at the end.
    mutating func clear() {
        guard let output, drawn != nil else { return }
        drawn = nil
        write("", to: output)
    }

    private func write(_ text: String, to output: Descriptor) {
        // A lost progress bar is no reason to fail.
        try? output.write(Array("\r\u{1B}[K\(text)".utf8))
    }

    /// The line of a bar.
    ///
    /// For example `append  42 % ████████░░░░░░░░░░░░  62,500 commands  210,000/s  0:12  0:16 left`
    static func text(_ label: String, unit: String, at moment: Moment, columns: Int) -> String {
        let whole = text(label, unit: unit, at: moment, cells: 20)
        // The time that is left is what people look for: the bar gives way.
        let excess = DisplayWidth.of(whole) - columns
        return excess > 0
            ? text(label, unit: unit, at: moment, cells: max(4, 20 - excess)).truncated(to: columns) : whole
    }

    private static func text(_ label: String, unit: String, at moment: Moment, cells: Int) -> String {
        let seconds = Double(moment.elapsed.components.seconds) + Double(moment.elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? UInt64(min(Double(moment.count) / seconds, 1e18)) : 0
        var parts = [label]
        if let fraction = moment.fraction {
            let bounded = min(max(fraction, 0), 1)
            parts.append("\(String(Int(bounded * 100)).padded(to: 3, .right)) % \(bar(bounded, cells: cells))")
        }
        parts.append("\(moment.count.grouped) \(unit)")
        parts.append("\(rate.grouped)/s")
        parts.append(clock(moment.elapsed.components.seconds))
        if let left = secondsLeft(moment.fraction, after: seconds) { parts.append("\(clock(left)) left") }
        return parts.joined(separator: "  ")
    }

    /// As long as the rest takes at the rate so far; nil as long as that says little.
    private static func secondsLeft(_ fraction: Double?, after seconds: Double) -> Int64? {
        guard let fraction, fraction > 0.005, fraction < 1, seconds >= 1 else { return nil }
        return Int64(min((seconds / fraction - seconds).rounded(.up), 1e9))
    }

    private static func bar(_ fraction: Double, cells: Int) -> String {
        let full = Int(fraction * Double(cells))
        return String(repeating: "█", count: full) + String(repeating: "░", count: cells - full)
    }

    private static func clock(_ seconds: Int64) -> String {
        let (minutes, rest) = (seconds / 60, seconds % 60)
        let tail = rest < 10 ? "0\(rest)" : "\(rest)"
        guard minutes >= 60 else { return "\(minutes):\(tail)" }
        return "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60):\(tail)"
    }
}
