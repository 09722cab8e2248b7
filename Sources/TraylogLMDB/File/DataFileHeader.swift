import TraylogPlatform

/// The two meta pages of a data file, read without LMDB.
///
/// LMDB 0.9 opens a truncated file without complaint, and the process dies on the first missing page. Reading by
/// `pread` is safe, because LMDB keeps no locks on the data file.
///
/// | offset | field (host byte order) |
/// |---|---|
/// | 10 | page flags, u16: 8 on a meta page |
/// | 16 | magic, u32 |
/// | 20 | format version, u32: 1 |
/// | 32 | size of the map, u64 |
/// | 40 | page size, u32 |
/// | 44 | flags of the free list, u16 |
/// | 92 | flags of the table of tables, u16 |
/// | 128 | root page of the table of tables, u64 |
/// | 136 | last page, u64 |
/// | 144 | transaction, u64 |
/// | 152 | behind LMDB's fields, where LMDB leaves the page alone: the mark, u64. The complement of the commit's number, if it
///   is pending; its number, if it was taken back; else 0 |
/// | 160 | in the first page the number of the journal, 16 bytes; see ``JournalLayout`` |
/// | 176 | the ``CommitNote``, 16 bytes |
///
/// All that is in the same 512 bytes, which a disk writes together. A ``Seal`` may follow.
package struct DataFileHeader: Sendable {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let byteCount = 160

    package var pageSize: Int
    package var lastPage: UInt64
    package var transaction: UInt64
    /// Of the table of tables.
    var root: UInt64
    /// Whether the commit may not be on disk: it counts if the journal has it, or if its seal fits.
    package var isPending: Bool

    /// The smallest size of a file in which all pages exist; nil when the numbers are absurd.
    var coveredBytes: Int64? {
        let (pages, overflows) = lastPage.addingReportingOverflow(1)
        guard !overflows, pages <= UInt64(Int64.max) / UInt64(pageSize) else { return nil }
        return Int64(pages) * Int64(pageSize)
    }

    /// A fault of a header.
    package enum Fault: Error {
        case short, foreign, newerFormat, version(UInt32), damaged
    }

    /// The newer one of the two meta pages.
    package static func read(_ file: FileDescriptor) throws(Fault) -> DataFileHeader {
        let first = try readPage(file, at: 0)
        let second: DataFileHeader
        do {
            second = try readPage(file, at: Int64(first.pageSize))
        } catch {
            // The first page is LMDB's, so this is LMDB's file, with damage.
            if case .foreign = error { throw .damaged }
            throw error
        }
        guard first.pageSize == second.pageSize, areConsecutive(first, second) else { throw .damaged }
        return second.transaction > first.transaction ? second : first
    }

    /// Whether the pages are of two commits in a row, as LMDB writes them: even numbers into the first one, odd ones
    /// into the second.
    ///
    /// With other numbers it would go by the wrong one.
    private static func areConsecutive(_ first: DataFileHeader, _ second: DataFileHeader) -> Bool {
        if first.transaction == 0, second.transaction == 0 { return first.root == second.root }
        let (older, newer) = (
            min(first.transaction, second.transaction), max(first.transaction, second.transaction)
        )
        return first.transaction & 1 == 0 && newer - older == 1
    }

    private static func readPage(_ file: FileDescriptor, at offset: Int64) throws(Fault) -> DataFileHeader {
        guard let page = FileBytes(file, at: offset, count: byteCount) else { throw .short }
        guard page.integer(at: 16, as: UInt32.self) == magic else {
            let isNewer = page.integer(at: 24, as: UInt32.self) == magic
            throw isNewer ? .newerFormat : .foreign
        }
        let version = page.integer(at: 20, as: UInt32.self)
        guard version == 1 else { throw .version(version) }
        let pageSize = Int(page.integer(at: 40, as: UInt32.self))
        guard page.integer(at: 10, as: UInt16.self) & 8 != 0, (512...65536).contains(pageSize),
            pageSize & (pageSize - 1) == 0,
            page.integer(at: 44, as: UInt16.self) & ~TableRecord.meaninglessFlags == MetaPage.integerKeys,
            page.integer(at: 92, as: UInt16.self) == 0, page.integer(at: 32, as: UInt64.self) < 1 << 47
        else { throw .damaged }
        let transaction = page.integer(at: MetaPage.numberOffset, as: UInt64.self)
        return DataFileHeader(
            pageSize: pageSize,
            lastPage: page.integer(at: 136, as: UInt64.self),
            transaction: transaction,
            root: page.integer(at: 128, as: UInt64.self),
            isPending: page.integer(at: MetaPage.mark.lowerBound, as: UInt64.self) == ~transaction)
    }
}

/// Bytes read from a file at a position.
struct FileBytes {
    let bytes: [UInt8]

    /// Exactly `count` bytes at `offset`; nil when the file ends before or cannot be read.
    init?(_ file: FileDescriptor, at offset: Int64, count: Int) {
        guard let bytes = try? file.read(count, at: offset), bytes.count == count else { return nil }
        self.bytes = bytes
    }

    /// The integer at `offset` in host byte order; the caller knows that it is inside.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= bytes.count, "Outside of the bytes read.")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}

/// One of the two pages of the header, as commits leave them alternately.
struct MetaPage {
    var transaction: UInt64
    var lastPage: UInt64
    var freeList: TableRecord
    var tables: TableRecord

    /// LMDB's flag for keys that are numbers.
    static let integerKeys: UInt16 = 8
    /// The records of the free list and of the tables, and the last page.
    static let contents = 40..<144
    /// The transaction.
    static let numberOffset = 144
    /// All fields of LMDB's.
    static let fields = 16..<152
    /// Ours behind them; see ``DataFileHeader``.
    static let mark = 152..<160
    static let journal = 160..<176
    static let note = 176..<192

    /// Nil when it makes no sense; see ``DataFileHeader`` for the offsets.
    init?(_ page: Page) {
        guard let transaction = page.number(at: Self.numberOffset), let lastPage = page.number(at: 136),
            lastPage < 1 << 47,
            let freeList = TableRecord(
                page, at: 40, name: .freePages, flags: Self.integerKeys, pageCount: lastPage + 1),
            let tables = TableRecord(page, at: 88, name: .tables, flags: 0, pageCount: lastPage + 1)
        else { return nil }
        self.transaction = transaction
        self.lastPage = lastPage
        self.freeList = freeList
        self.tables = tables
    }
}
