/// The program beside which a case is measured.
struct Rival: Sendable {
    enum Source: Sendable {
        /// A reference program and its case.
        case program(Reference, String)
        /// This store again, in another case or for another number of users or events.
        case ours(BenchCase, users: Int?, events: Int?)
        /// Another figure of the same run.
        case sameRun
        /// A fixed bound, for each metric.
        case limit([String: Double])
        /// `jq`, reading the same lines.
        case jq
    }

    var name: String
    var source: Source
    /// Those of the case when nil.
    var metrics: [Metric]?

    static func program(_ reference: Reference, _ test: String, name: String? = nil) -> Rival {
        Rival(name: name ?? reference.rawValue, source: .program(reference, test))
    }

    static func limit(_ bounds: [String: Double]) -> Rival {
        Rival(name: "limit", source: .limit(bounds))
    }
}
