/// One named database (a sorted map of byte strings) of an environment.
///
/// It is a number, valid for the environment that gave it and until that closes.
@usableFromInline package struct Database: Hashable, Sendable {
    /// LMDB's number; of no meaning in an environment that only reads.
    @usableFromInline package let handle: UInt32
    /// Among the names that the environment was opened with.
    @usableFromInline package let index: Int

    package init(handle: UInt32, index: Int) {
        self.handle = handle
        self.index = index
    }
}

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
