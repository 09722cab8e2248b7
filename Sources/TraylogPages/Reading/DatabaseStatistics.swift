/// The size of one database as a transaction sees it.
@usableFromInline package struct DatabaseStatistics: Hashable, Sendable {
    package var entries: Int
    package var depth: Int
    package var branchPages: Int
    package var leafPages: Int
    package var overflowPages: Int

    /// Pages of every kind.
    package var pages: Int { branchPages + leafPages + overflowPages }

    init(_ record: TableRecord) {
        entries = Int(clamping: record.entries)
        depth = record.depth
        branchPages = Int(record.branchPages)
        leafPages = Int(record.leafPages)
        overflowPages = Int(record.overflowPages)
    }
}
