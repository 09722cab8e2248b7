/// One figure of a run.
struct Metric: Sendable {
    /// The direction in which a figure gets better.
    enum Direction: Sendable { case higher, lower }

    /// The member of what programs print.
    var key: String
    var unit: String
    var better: Direction
    /// The case's name in the results, where one case gives several figures.
    var name: String?
    /// The member that the rival's figure is in, and what the rival is called then.
    var theirKey: String?
    var reference: String?

    static let rate = Metric(key: "perSecond", unit: "events/s", better: .higher)
    /// Processor time an event, of all threads of the process; a server's is not in it.
    static let processorTime = Metric(key: "processorNanoseconds", unit: "ns", better: .lower)
    static let query = Metric(key: "nanoseconds", unit: "ns", better: .lower)
    static let p50 = Metric(key: "p50", unit: "us", better: .lower)
    static let p99 = Metric(key: "p99", unit: "us", better: .lower)

    func named(_ name: String) -> Metric {
        var metric = self
        metric.name = name
        return metric
    }

    func ratio(ours: Double, theirs: Double) -> Double {
        guard ours > 0, theirs > 0 else { return 0 }
        return better == .higher ? ours / theirs : theirs / ours
    }
}
