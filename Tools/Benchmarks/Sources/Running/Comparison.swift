import Foundation

/// One figure beside one reference: the medians of runs in alternation.
struct Comparison: Sendable {
    var name: String
    var reference: String
    var metric: Metric
    var events: Int
    var users: Int
    var runs: Int
    var syncDelay: Double
    var ours = Series()
    var theirs = Series()
    var syncs = Series()

    var ratio: Double { metric.ratio(ours: ours.median, theirs: theirs.median) }

    /// The form that other programs read; its keys are fixed.
    ///
    /// - Parameter details: adds what plots need.
    func json(details: Bool) -> String {
        let more =
            """
            ,"events":\(events),"users":\(users),"oursSpread":\(Self.short(ours.spreadPercent)),\
            "theirsSpread":\(Self.short(theirs.spreadPercent)),"syncDelay":\(Self.short(syncDelay))
            """
        return """
            {"case":"\(name)","reference":"\(reference)","ours":\(Self.short(ours.median)),\
            "theirs":\(Self.short(theirs.median)),"unit":"\(metric.unit)","ratio":\(Self.fixed(ratio, 3)),\
            "runs":\(runs),"syncsPerSecond":\(Self.fixed(syncs.median, 0))\(details ? more : "")}
            """
    }

    /// The form that people read.
    var text: String {
        let columns = [
            Self.padded(name, 18), Self.padded(reference, 14), Self.figure(ours), Self.figure(theirs),
            Self.padded(metric.unit, 9), "ratio " + Self.padded(Self.fixed(ratio, 3), 9),
            "\(events) events, \(Self.fixed(syncs.median, 0)) syncs/s",
        ]
        return columns.joined(separator: " ")
    }

    private static func figure(_ series: Series) -> String {
        padded(short(series.median), 10, right: true) + " " + padded("±\(fixed(series.spreadPercent / 2, 0)) %", 7)
    }

    private static func padded(_ text: String, _ width: Int, right: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return right ? space + text : text + space
    }

    /// Four digits at least.
    private static func short(_ value: Double) -> String { fixed(value, value < 100 ? 2 : value < 1_000 ? 1 : 0) }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }
}
