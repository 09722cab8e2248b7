import CTraylogLMDB

/// The size of one database as a transaction sees it.
@usableFromInline package struct DatabaseStatistics: Hashable, Sendable {
    package var entries: Int
    package var depth: Int
    package var branchPages: Int
    package var leafPages: Int
    package var overflowPages: Int

    /// Pages of every kind.
    package var pages: Int { branchPages + leafPages + overflowPages }

    init(_ raw: MDB_stat) {
        entries = Int(raw.ms_entries)
        depth = Int(raw.ms_depth)
        branchPages = Int(raw.ms_branch_pages)
        leafPages = Int(raw.ms_leaf_pages)
        overflowPages = Int(raw.ms_overflow_pages)
    }
}
