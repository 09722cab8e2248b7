import ArgumentParser

/// A case to measure; the raw value is its name on the command line and in the results.
enum BenchCase: String, CaseIterable, Sendable, ExpressibleByArgument {
    case bulk100k = "bulk-100k"
    case bulk1m = "bulk-1m"
    case bulkKeys = "bulk-keys"
    case blocking1 = "blocking-1"
    case blocking8 = "blocking-8"
    case concurrent1 = "concurrent-1"
    case concurrent8 = "concurrent-8"
    case concurrent64 = "concurrent-64"
    case concurrent512 = "concurrent-512"
    case badge
    case page
    case pageDeep = "page-deep"
    case threads
    case markAll = "mark-all"
    case broadcast
    case tick
    case openClean = "open-clean"
    case openKilled = "open-killed"
    case replay
    case asOf = "as-of"
    case importing = "import"
    case bytes
    case memory
    case mixedDay = "mixed-day"
    case big
}
