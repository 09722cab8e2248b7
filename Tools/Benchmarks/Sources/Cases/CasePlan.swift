/// The plan of a case's runs, at its full size.
struct CasePlan: Sendable {
    var events: Int
    var users = 100_000
    var distribution = Distribution.zipf
    var queries = 100_000
    var callers = 64
    var metrics: [Metric]
    var rivals: [Rival]
    /// The store is made once, by a process of its own, and all runs measure it.
    var keepsStore = false
    /// On a disk in memory, where a sync costs nothing.
    var inMemory = false

    static let batch = 1_000
}

extension BenchCase {
    var plan: CasePlan {
        switch self {
        case .bulk100k, .bulk1m, .bulkKeys: bulkPlan
        case .concurrent1, .blocking1: callersPlan(1, events: 10_000)
        case .concurrent8, .blocking8: callersPlan(8, events: 50_000)
        case .concurrent64: callersPlan(64, events: 200_000)
        case .concurrent512: callersPlan(512, events: 400_000)
        case .badge, .page, .pageDeep, .threads, .asOf: queryPlan
        case .markAll, .broadcast, .tick: writePlan
        case .openClean: openPlan(milliseconds: 100)
        case .openKilled: openPlan(milliseconds: 1_000)
        case .replay, .importing, .bytes, .memory, .mixedDay, .big: wholePlan
        }
    }

    /// Every reference, with processor time beside those that work in one process.
    private func appenders(_ test: String, _ metrics: [Metric]) -> [Rival] {
        Reference.allCases.map { reference in
            var rival = Rival.program(reference, test)
            rival.metrics = metrics + (reference.isEmbedded ? [processorTime] : [])
            return rival
        }
    }

    private var processorTime: Metric { .processorTime.named("\(rawValue)-cpu") }

    private var bulkPlan: CasePlan {
        let log = Rival.program(.lmdbLog, "bulk")
        return switch self {
        case .bulk1m:
            CasePlan(events: 2_000_000, users: 1_000_000, distribution: .uniform, metrics: [.rate], rivals: [log])
        case .bulkKeys:
            CasePlan(
                events: 1_000_000, metrics: [.rate],
                rivals: [Rival(name: "bulk-100k", source: .ours(.bulk100k, users: nil, events: nil))])
        default: CasePlan(events: 2_000_000, metrics: [.rate], rivals: appenders("bulk", [.rate]))
        }
    }

    private func callersPlan(_ callers: Int, events: Int) -> CasePlan {
        let metrics = [Metric.rate, .p50.named("\(rawValue)-p50"), .p99.named("\(rawValue)-p99")]
        return CasePlan(events: events, callers: callers, metrics: metrics, rivals: appenders("callers", metrics))
    }

    private var queryPlan: CasePlan {
        var plan = CasePlan(events: 1_000_000, metrics: [.query], rivals: [], keepsStore: true)
        switch self {
        case .badge:
            plan.queries = 1_000_000
            // So that each of them has a tray.
            plan.distribution = .uniform
            plan.rivals = [.program(.lmdbLog, "get", name: "lmdb-get"), .program(.sqlite, "badge")]
        case .page: plan.rivals = [.program(.lmdbNaive, "page"), .program(.sqlite, "page")]
        case .pageDeep:
            plan.events = 1_250_000
            plan.distribution = .heavy
            plan.rivals = [.program(.lmdbNaive, "page-deep")]
        case .threads:
            plan.queries = 2_000
            plan.rivals = [.program(.sqlite, "threads")]
        default:
            plan.queries = 10_000
            plan.metrics[0].theirKey = "nowNanoseconds"
            plan.rivals = [Rival(name: "now", source: .sameRun)]
        }
        return plan
    }

    private var writePlan: CasePlan {
        let latency = Metric(key: "microseconds", unit: "us", better: .lower)
        return switch self {
        case .markAll:
            CasePlan(
                events: 1_111_112, distribution: .heavy, metrics: [latency],
                rivals: [.program(.sqlite, "mark-all"), .limit(["microseconds": 1_000])], inMemory: true)
        case .broadcast:
            CasePlan(
                events: 1_000_000, users: 1_000_000, queries: 2_000, metrics: [latency],
                rivals: [Rival(name: "broadcast-10", source: .ours(.broadcast, users: 10, events: 10))])
        default: CasePlan(events: 200_000, metrics: [.rate], rivals: [.program(.sqlite, "tick")])
        }
    }

    private func openPlan(milliseconds: Double) -> CasePlan {
        CasePlan(
            events: 10_000_000, metrics: [Metric(key: "milliseconds", unit: "ms", better: .lower)],
            rivals: [.limit(["milliseconds": milliseconds])], keepsStore: true)
    }

    private var wholePlan: CasePlan {
        switch self {
        case .replay:
            CasePlan(
                events: 2_000_000, metrics: [.rate],
                rivals: [
                    .program(.lmdbLog, "scan", name: "lmdb-scan"), .program(.sqlite, "scan"),
                    .limit([Metric.rate.key: 1_000_000]),
                ], keepsStore: true)
        case .importing:
            CasePlan(
                events: 149_033, metrics: [Metric(key: "milliseconds", unit: "ms", better: .lower)],
                rivals: [Rival(name: "jq", source: .jq)])
        case .bytes:
            CasePlan(
                events: 2_000_000, metrics: [Metric(key: "bytesPerEvent", unit: "bytes", better: .lower)],
                rivals: [.program(.lmdbLog, "bytes")])
        case .memory:
            CasePlan(
                events: 2_000_000, metrics: [Metric(key: "bytes", unit: "bytes", better: .lower)],
                rivals: [.program(.redis, "memory"), .limit(["bytes": 384 * 1_048_576])])
        case .mixedDay:
            CasePlan(events: 200_000, metrics: [.rate], rivals: [.program(.sqlite, "mixed-day")])
        default:
            CasePlan(
                events: 100_000_000, users: 10_000_000, queries: 50_000, metrics: Self.bigMetrics,
                rivals: [Rival(name: "1m", source: .ours(.big, users: 100_000, events: 1_000_000))], keepsStore: true)
        }
    }

    private static let bigMetrics: [Metric] = [
        Metric(key: "appendPerSecond", unit: "events/s", better: .higher, reference: "append-1m"),
        Metric(key: "badge", unit: "ns", better: .lower, reference: "badge-1m"),
        Metric(key: "page", unit: "ns", better: .lower, reference: "page-1m"),
        Metric(key: "pageDeep", unit: "ns", better: .lower, reference: "page-deep-1m"),
        Metric(key: "threads", unit: "ns", better: .lower, reference: "threads-1m"),
        Metric(key: "asOf", unit: "ns", better: .lower, reference: "as-of-1m"),
    ]
}
