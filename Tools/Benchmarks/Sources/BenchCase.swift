import ArgumentParser

/// What is measured; the raw value is the name on the command line and in the results.
enum BenchCase: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// `notify` for 100,000 users with Zipf's frequencies, in transactions of 1,000.
    case bulk100k = "bulk-100k"
    /// Single appends, each durable before its caller goes on, by 64 tasks.
    case concurrent64 = "concurrent-64"

    static let users = 100_000
    static let batch = 1_000
    static let callers = 64

    /// Events at scale 1: a run takes a few seconds on a fast disk.
    var events: Int {
        switch self {
        case .bulk100k: 2_000_000
        case .concurrent64: 200_000
        }
    }

    /// What `lmdb_log` is asked to do for comparison.
    ///
    /// The same number of records of the same size, in the same commits; for the callers, groups as large as they come.
    var logArguments: [String] {
        switch self {
        case .bulk100k: ["-m", "bulk", "-b", "\(Self.batch)"]
        case .concurrent64: ["-m", "callers", "-t", "\(Self.callers)"]
        }
    }
}
