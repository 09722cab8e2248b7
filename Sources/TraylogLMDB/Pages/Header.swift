import TraylogPlatform

/// One of the two pages of the header, which commits write alternately: LMDB's fields and, where LMDB leaves the page alone,
/// ours.
///
/// | offset | field (host byte order) |
/// |---|---|
/// | 10 | page flags, u16: 8 on a page of the header |
/// | 16 | magic, u32 |
/// | 20 | format version, u32: 1 |
/// | 32 | size of the map, u64 |
/// | 40 | page size, u32 |
/// | 40 | the record of the list of free pages, whose first four bytes LMDB does not need; see ``TableRecord`` |
/// | 88 | the record of the table of tables |
/// | 136 | last page, u64 |
/// | 144 | transaction, u64 |
/// | 152 | the mark, u64: the complement of the commit's number, if it is pending; its number, if it was taken back; else 0 |
/// | 160 | in the first page the number of the journal, 16 bytes; see ``JournalLayout`` |
/// | 176 | the ``CommitNote``, 16 bytes |
///
/// All that is in the same 512 bytes, which a disk writes together. A ``Seal`` may follow. The last byte of the first page
/// says whether another file takes the place of this one.
struct MetaPage {
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let freeList = 40
    private static let tables = 88
    private static let lastPage = 136
    static let numberOffset = 144
    /// The records and the last page.
    static let contents = 40..<144
    /// All fields of LMDB's.
    static let fields = 16..<152
    static let mark = 152..<160
    static let journal = 160..<176
    static let note = 176..<192
    /// LMDB's flag for keys that are numbers.
    private static let integerKeys: UInt16 = 8

    private let page: Page

    /// - Parameter page: with as many bytes as are asked for.
    init(_ page: Page) {
        self.page = page
    }

    /// Lends what is at a place of a file, up to the number of the journal.
    ///
    /// - Returns: nil when the file ends before that or cannot be read.
    static func read<R>(_ file: FileDescriptor, at offset: Int64, _ body: (MetaPage) -> R) -> R? {
        guard let bytes = try? file.read(journal.upperBound, at: offset), bytes.count == journal.upperBound else {
            return nil
        }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.map { body(MetaPage(unsafe Page(base: $0, size: bytes.count))) }
        }
    }

    var isLMDBs: Bool { page.integer(at: 16, as: UInt32.self) == Self.magic }
    var pageSize: Int { Int(page.integer(at: 40, as: UInt32.self)) }
    /// The commit.
    var number: UInt64 { page.integer(at: Self.numberOffset, as: UInt64.self) }
    var lastPage: UInt64 { page.integer(at: Self.lastPage, as: UInt64.self) }
    /// Of the table of tables.
    var root: UInt64 { page.integer(at: Self.tables + TableRecord.rootOffset, as: UInt64.self) }
    @inline(__always)
    var mark: UInt64 { page.integer(at: Self.mark.lowerBound, as: UInt64.self) }

    var journal: JournalNumber? { JournalNumber(Self.journal.map { page.byte(at: $0) }) }

    /// The checksum that a commit left; nil when it left none.
    func note(of commit: UInt64) -> UInt32? {
        guard commit > 0, page.integer(at: Self.note.lowerBound + 8, as: UInt64.self) == commit else { return nil }
        return UInt32(exactly: page.integer(at: Self.note.lowerBound, as: UInt64.self))
    }

    /// The trees of a commit, and the file's length as it left it.
    struct Commit {
        let number: UInt64
        let lastPage: UInt64
        let freeList: TableRecord
        let tables: TableRecord
    }

    /// Nil when the fields make no sense.
    var commit: Commit? {
        let lastPage = lastPage
        guard lastPage < 1 << 47,
            let freeList = TableRecord(
                page, at: Self.freeList, name: .freePages, flags: Self.integerKeys, pageCount: lastPage + 1),
            let tables = TableRecord(page, at: Self.tables, name: .tables, flags: 0, pageCount: lastPage + 1)
        else { return nil }
        return Commit(number: number, lastPage: lastPage, freeList: freeList, tables: tables)
    }

    /// The reason why LMDB 0.9 cannot read the file.
    var fault: DataFileHeader.Fault? {
        guard isLMDBs else { return page.integer(at: 24, as: UInt32.self) == Self.magic ? .newerFormat : .foreign }
        let version = page.integer(at: 20, as: UInt32.self)
        guard version == 1 else { return .version(version) }
        let isSound =
            page.flags & 8 != 0 && PageLayout.isPageSize(pageSize)
            && flags(of: Self.freeList) & ~TableRecord.meaninglessFlags == Self.integerKeys
            && flags(of: Self.tables) == 0
            && page.integer(at: 32, as: UInt64.self) < 1 << 47
        return isSound ? nil : .damaged
    }

    private func flags(of record: Int) -> UInt16 { page.integer(at: record + TableRecord.flagsOffset, as: UInt16.self) }
}

/// The header of a data file, read without LMDB.
///
/// LMDB 0.9 opens a truncated file without complaint, and the process dies on the first missing page. Reading by
/// `pread` is safe, because LMDB keeps no locks on the data file.
struct DataFileHeader {
    /// The fields of one of the two pages.
    private struct Side {
        let isLMDBs: Bool
        let fault: Fault?
        let pageSize: Int
        let journal: JournalNumber?
        let number: UInt64
        let lastPage: UInt64
        let root: UInt64
        let mark: UInt64

        /// Nil when the file ends before all of it is there.
        init?(_ file: FileDescriptor, at offset: Int64) {
            let side = MetaPage.read(file, at: offset) { Side($0) }
            guard let side else { return nil }
            self = side
        }

        private init(_ page: MetaPage) {
            (isLMDBs, fault, pageSize, journal) = (page.isLMDBs, page.fault, page.pageSize, page.journal)
            (number, lastPage, root, mark) = (page.number, page.lastPage, page.root, page.mark)
        }
    }

    private let first: Side
    private let second: Side

    /// A fault of a header.
    enum Fault: Error, Equatable {
        case short, foreign, newerFormat, version(UInt32), damaged
    }

    /// The header as it is, which a power cut may have left as of any two commits; nil for what is no header.
    init?(leftIn file: FileDescriptor) {
        guard let first = Side(file, at: 0), first.isLMDBs, PageLayout.isPageSize(first.pageSize),
            let second = Side(file, at: Int64(first.pageSize)), second.isLMDBs
        else { return nil }
        (self.first, self.second) = (first, second)
    }

    /// The header of a file that LMDB 0.9 can open.
    init(_ file: FileDescriptor) throws(Fault) {
        guard let first = Side(file, at: 0) else { throw .short }
        if let fault = first.fault { throw fault }
        guard let second = Side(file, at: Int64(first.pageSize)) else { throw .short }
        // The first page is LMDB's, so this is LMDB's file, with damage.
        guard second.fault != .foreign else { throw .damaged }
        if let fault = second.fault { throw fault }
        (self.first, self.second) = (first, second)
        guard first.pageSize == second.pageSize, areConsecutive else { throw .damaged }
    }

    /// Of the pages, in bytes.
    var pageSize: Int { first.pageSize }
    var journal: JournalNumber? { first.journal }

    /// Whether the pages are of two commits in a row, as LMDB writes them: even numbers into the first one, odd ones
    /// into the second.
    ///
    /// With other numbers it would go by the wrong one.
    private var areConsecutive: Bool {
        if first.number == 0, second.number == 0 { return first.root == second.root }
        let (older, newer) = (min(first.number, second.number), max(first.number, second.number))
        return first.number & 1 == 0 && newer - older == 1
    }

    private var last: Side { first.number > second.number ? first : second }

    /// The newest commit.
    var newest: UInt64 { last.number }
    var lastPage: UInt64 { last.lastPage }

    /// The newest commit, if it may not be on disk: it counts if the journal has it, or if its seal fits.
    var pending: UInt64? { last.mark == ~last.number ? last.number : nil }

    /// The newest commit that is on disk for certain, the journal included; that before one that was taken back.
    var newestOnDisk: UInt64 {
        // A commit begins after the one before is on disk, so the mark of any but the newest does not matter.
        let onDisk = [first, second].map { side in
            if side.mark == side.number, side.number > 0 { return side.number - 1 }
            return side.mark == ~side.number && side.number == newest ? 0 : side.number
        }
        return onDisk.max() ?? 0
    }

    /// The smallest size of a file in which all pages exist; nil when the numbers are absurd.
    var coveredBytes: Int64? {
        let (pages, overflows) = lastPage.addingReportingOverflow(1)
        guard !overflows, pages <= UInt64(Int64.max) / UInt64(pageSize) else { return nil }
        return Int64(pages) * Int64(pageSize)
    }
}

/// The header in the map. It is written by the one process that may write the file.
extension PageMap {
    /// The page of the header that a commit has.
    @inline(__always)
    func meta(of commit: UInt64) -> MetaPage { MetaPage(page(commit & 1)) }

    /// The newest commit that the header shows at this moment, whether it is on disk or not.
    var newestCommit: UInt64 {
        guard readablePages(2) == 2 else { return .max }
        return max(meta(of: 0).number, meta(of: 1).number)
    }

    /// Whether another file is about to take the place of this one, or has done so, as the writer says.
    ///
    /// It says so in the last byte of the header's first page, which LMDB leaves alone: so a reader in another process sees
    /// it in its map with each transaction, for the price of a look at memory.
    @inline(__always)
    var isBeingReplaced: Bool { page(0).byte(at: pageSize - 1) != 0 }

    func setBeingReplaced(_ isBeingReplaced: Bool) throws(LMDBError) {
        let byte: [UInt8] = [isBeingReplaced ? 1 : 0]
        try write(RawSpan(_elements: byte.span), at: 0, pageSize - 1)
    }

    /// Whether a commit may not be on disk, so that no answer may rest on it.
    @inline(__always)
    func isPending(_ commit: UInt64) -> Bool { meta(of: commit).mark == ~commit && commit != confirmed }

    /// Whether a commit changes nothing, because it was taken back.
    func isTakenBack(_ commit: UInt64) -> Bool { meta(of: commit).mark == commit }

    /// Marks a commit as pending, or as on disk.
    func mark(_ commit: UInt64, asPending isPending: Bool) throws(LMDBError) {
        try unsafe withUnsafeBytes(of: isPending ? ~commit : 0) { (mark) throws(LMDBError) in
            unsafe try write(RawSpan(_unsafeBytes: mark), at: commit & 1, MetaPage.mark.lowerBound)
        }
    }

    /// The checksum that a commit left in its page of the header; nil when it left none.
    func note(of commit: UInt64) -> UInt32? { meta(of: commit).note(of: commit) }

    /// Marks a commit as on disk, as far as it has to be, and leaves its note.
    ///
    /// Both are one write, so that whoever sees a commit that counts sees its note.
    func markWritten(_ commit: UInt64, leaving note: UInt32?) throws(LMDBError) {
        guard let checksum = note else { return try mark(commit, asPending: false) }
        let page = page(commit & 1)
        let journal = MetaPage.journal.lowerBound
        // What lies between the two stays as it is.
        let (first, second) = (
            page.integer(at: journal, as: UInt64.self), page.integer(at: journal + 8, as: UInt64.self)
        )
        let fields = (UInt64(0), first, second, UInt64(checksum), commit)
        try unsafe withUnsafeBytes(of: fields) { (fields) throws(LMDBError) in
            unsafe try write(RawSpan(_unsafeBytes: fields), at: commit & 1, MetaPage.mark.lowerBound)
        }
    }

    /// Gives the file the number of a journal.
    func setJournal(_ number: JournalNumber) throws(LMDBError) {
        try write(RawSpan(_elements: number.bytes.span), at: 0, MetaPage.journal.lowerBound)
    }

    /// Makes a commit that nobody was answered from one that changes nothing; the caller syncs it before anything else is
    /// written.
    func takeBack(_ commit: UInt64) throws(LMDBError) {
        let bytes = fieldsOfOther(commit, number: commit, mark: commit)
        try write(RawSpan(_elements: bytes.span), at: commit & 1, MetaPage.contents.lowerBound)
    }

    /// Takes the mark away if a commit that failed left it, and nothing of that commit is in the header.
    func unmark(_ commit: UInt64) {
        guard isPending(commit), meta(of: commit).number != commit, RenumberedCommit(self, newest: commit - 1) == nil
        else { return }
        try? mark(commit, asPending: false)
    }

    /// The bytes with which a commit's page of the header shows the same as the other one, with its note, from
    /// ``MetaPage/contents`` on.
    ///
    /// It is written at once and lies inside of 512 bytes: a disk has all of it or nothing.
    func fieldsOfOther(_ commit: UInt64, number: UInt64, mark: UInt64) -> [UInt8] {
        let (own, other) = (page(commit & 1), page(~commit & 1))
        let left = note(of: MetaPage(other).number)
        var bytes = MetaPage.contents.map { other.byte(at: $0) }
        append([number, mark], to: &bytes)
        for offset in MetaPage.journal { bytes.append(own.byte(at: offset)) }
        append([UInt64(left ?? 0), left == nil ? 0 : number], to: &bytes)
        return bytes
    }

    private func append(_ numbers: [UInt64], to bytes: inout [UInt8]) {
        for number in numbers { unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) } }
    }
}
