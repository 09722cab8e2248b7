import ArgumentParser

/// What is measured; the raw value is the name on the command line and in the results.
enum BenchCase: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// `notify` for 100,000 users with Zipf's frequencies, in transactions of 1,000.
    case bulk100k = "bulk-100k"
    /// Single appends, each durable before its caller goes on, by 64 tasks.
    case concurrent64 = "concurrent-64"
    /// The same by one task: what group commit is measured against.
    case concurrent1 = "concurrent-1"

    static let users = 100_000
    static let batch = 1_000

    /// Tasks that append at the same time.
    var callers: Int {
        switch self {
        case .bulk100k: 3
        case .concurrent64: 64
        case .concurrent1: 1
        }
    }

    /// Events at scale 1: a run takes a few seconds on a fast disk.
    var events: Int {
        switch self {
        case .bulk100k: 2_000_000
        case .concurrent64: 200_000
        case .concurrent1: 10_000
        }
    }

    /// What `lmdb_log` is asked to do for comparison.
    ///
    /// The same number of records of the same size, in the same commits; for the callers, groups as large as they come.
    var logArguments: [String] {
        switch self {
        case .bulk100k: ["-m", "bulk", "-b", "\(Self.batch)"]
        case .concurrent64, .concurrent1: ["-m", "callers", "-t", "\(callers)"]
        }
    }
}
