import Foundation

/// One case beside one reference: the medians of runs in alternation.
struct Comparison: Sendable {
    var benchCase: BenchCase
    var reference: String
    var events: Int
    var runs = 0
    var ours = Series()
    var theirs = Series()
    var closeSeconds = Series()
    var syncsPerSecond = Series()

    /// How many times better than the reference.
    var ratio: Double { theirs.median > 0 ? ours.median / theirs.median : 0 }

    /// The form that other programs read; its keys are fixed.
    var json: String {
        """
        {"case":"\(benchCase.rawValue)","reference":"\(reference)","ours":\(Self.whole(ours.median)),\
        "theirs":\(Self.whole(theirs.median)),"unit":"events/s","ratio":\(Self.fixed(ratio, 3)),"runs":\(runs),\
        "syncsPerSecond":\(Self.whole(syncsPerSecond.median))}
        """
    }

    /// The form that people read.
    var text: String {
        """
        \(benchCase.rawValue): \(Self.whole(ours.median)) events/s (spread \(Self.whole(ours.spreadPercent)) %), \
        \(reference) \(Self.whole(theirs.median)) (\(Self.whole(theirs.spreadPercent)) %), \
        ratio \(Self.fixed(ratio, 3))
          \(runs) runs of \(events) events of \(Workload.recordBytes) bytes; \
        close \(Self.fixed(closeSeconds.median, 3)) s; disk \(Self.whole(syncsPerSecond.median)) syncs/s
        """
    }

    private static func whole(_ value: Double) -> String { fixed(value, 0) }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }
}
