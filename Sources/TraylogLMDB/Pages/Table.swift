/// LMDB's record of a table: 48 bytes in the header or in the table of tables.
///
/// | offset | what |
/// |---|---|
/// | 4 | flags, u16 |
/// | 6 | depth, u16 |
/// | 8 | branch pages, u64 |
/// | 16 | leaf pages, u64 |
/// | 24 | pages of large values, u64 |
/// | 32 | entries, u64 |
/// | 40 | root, u64 |
struct TableRecord {
    static let byteCount = 48
    static let flagsOffset = 4
    static let rootOffset = 40
    /// Tells whether the file was made without a directory of its own.
    static let meaninglessFlags: UInt16 = 0x4000

    /// The name of the table.
    var name: TableName
    var depth: Int
    var root: UInt64
    var branchPages: UInt64
    var leafPages: UInt64
    var overflowPages: UInt64
    var entries: UInt64

    var isEmpty: Bool { root == PageLayout.noPage }
    /// Of every kind.
    var pages: UInt64 { branchPages &+ leafPages &+ overflowPages }

    /// Nil when the record makes no sense.
    ///
    /// - Parameters:
    ///   - flags: those that the table must have.
    ///   - pageCount: of the file.
    init?(_ page: Page, at offset: Int, name: TableName, flags: UInt16, pageCount: UInt64) {
        guard let first = page.number(at: offset), let root = page.number(at: offset + Self.rootOffset),
            let branchPages = page.number(at: offset + 8), let leafPages = page.number(at: offset + 16),
            let overflowPages = page.number(at: offset + 24), let entries = page.number(at: offset + 32)
        else { return nil }
        self.name = name
        depth = Int(first >> 48)
        self.root = root
        self.branchPages = branchPages
        self.leafPages = leafPages
        self.overflowPages = overflowPages
        self.entries = entries
        guard UInt16(truncatingIfNeeded: first >> 32) & ~Self.meaninglessFlags == flags else { return nil }
        guard branchPages < pageCount, leafPages < pageCount, overflowPages < pageCount else { return nil }
        if root == PageLayout.noPage {
            guard depth == 0, pages == 0, entries == 0 else { return nil }
        } else {
            guard root >= PageLayout.firstPage, root < pageCount, (1...PageLayout.maximumDepth).contains(depth),
                leafPages > 0, (depth > 1) == (branchPages > 0), entries >= leafPages
            else { return nil }
        }
    }
}

/// A table of a file: one that the environment was opened with, by its index, or one of LMDB's own.
enum TableName: Hashable, Sendable {
    case named(Int)
    /// The table of tables.
    case tables
    case freePages
    /// One that the environment was not opened with.
    case other
}

/// One named database (a sorted map of byte strings) of an environment.
///
/// It is a number, valid for the environment that gave it and until that closes.
@usableFromInline package struct Database: Hashable, Sendable {
    /// LMDB's number; of no meaning in an environment that only reads.
    @usableFromInline package let handle: UInt32
    /// Among the names that the environment was opened with.
    package let index: Int

    package init(handle: UInt32, index: Int) {
        self.handle = handle
        self.index = index
    }
}

/// The size of one database as a transaction sees it.
package struct DatabaseStatistics: Hashable, Sendable {
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

extension TableName {
    var content: Page.Content {
        switch self {
        case .named, .other: .rows
        case .tables: .tables
        case .freePages: .freePages
        }
    }
}
