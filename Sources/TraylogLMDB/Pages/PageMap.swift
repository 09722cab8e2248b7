import Synchronization
import TraylogPlatform

/// The data file mapped a second time, for reading pages without LMDB, which trusts them.
///
/// The map is replaced only while no transaction is under way.
@safe
final class PageMap: @unchecked Sendable {
    // @unchecked: `base` and `byteCount` change only inside of the gate's draining, when nobody reads; `free` and
    // `confirmed` only before the file is shared; the bits are atomic.
    private(set) var base: UnsafeRawPointer
    private var map: MemoryMap
    let pageSize: Int
    let pageShift: UInt64
    /// The data file as LMDB opened it, which closes it.
    private let file: FileDescriptor
    let path: String
    /// The names of the tables by their index, as keys of the table of tables.
    let tableNames: [[UInt8]]
    /// Whole pages in the file, as far as was looked; a file only grows.
    private let filePages = Atomic<UInt64>(0)
    /// Pages that were free when the file was opened: whoever is led to one makes sure that it is not free any more.
    private(set) var free = FreePages(.max, pageCount: 0)
    /// A commit that counts although its page of the header says that it is pending.
    private(set) var confirmed: UInt64?
    /// A bit for each page of the map: all of the page was examined since opening.
    ///
    /// After them, as many more: the page, which is at the end of a table, is in no other table.
    private var examined: UnsafeMutablePointer<Atomic<UInt>>
    private var examinedBits: MemoryMap

    /// - Parameters:
    ///   - byteCount: the size of the map; a file may be shorter, and grow into it.
    ///   - tableNames: the tables that will be read.
    init(
        _ file: FileDescriptor, path: String, byteCount: Int, pageSize: Int, tableNames: [String]
    ) throws(LMDBError) {
        self.file = file
        self.path = path
        self.pageSize = pageSize
        pageShift = UInt64(pageSize.trailingZeroBitCount)
        self.tableNames = tableNames.map { Array($0.utf8) }
        let (map, bits) = try LMDBError.attempt("open", path, Self.maps(file, byteCount, pageSize))
        self.map = map
        examinedBits = bits
        unsafe base = UnsafeRawPointer(map.base)
        unsafe examined = Self.words(of: bits)
    }

    /// Writes into a page through the descriptor of the file, which has to be open for writing.
    func write(_ bytes: RawSpan, at number: UInt64, _ offset: Int) throws(LMDBError) {
        let place = Int64(number) * Int64(pageSize) + Int64(offset)
        try LMDBError.attempt("write", path, file: file, file.write(bytes, at: place))
    }

    /// Maps as much as LMDB does now.
    ///
    /// The caller knows that nobody reads.
    ///
    /// - Returns: false when the system has no room for it; the map is as before then.
    func resize(to byteCount: Int) -> Bool {
        guard byteCount != map.byteCount else { return true }
        guard let (map, bits) = try? Self.maps(file, byteCount, pageSize) else { return false }
        self.map = map
        examinedBits = bits
        unsafe base = UnsafeRawPointer(map.base)
        unsafe examined = Self.words(of: bits)
        return true
    }

    /// Tells the system whether pages will be read in a row, so that it reads ahead what is not in memory.
    func expectScan(_ isExpected: Bool) {
        map.expectScan(isExpected)
    }

    /// The number of pages that can be read if the header says that there are `wanted`.
    func readablePages(_ wanted: UInt64) -> UInt64 {
        let mapped = UInt64(map.byteCount) >> pageShift
        var known = filePages.load(ordering: .relaxed)
        if known < wanted, let size = file.size {
            known = UInt64(size) >> pageShift
            filePages.store(known, ordering: .relaxed)
        }
        return min(wanted, known, mapped)
    }

    /// - Parameter number: below ``readablePages(_:)``.
    @inline(__always)
    func page(_ number: UInt64) -> Page {
        unsafe Page(base: base + Int(number << pageShift), size: pageSize)
    }

    @inline(__always)
    func isExamined(_ number: UInt64) -> Bool {
        unsafe examined[Int(number >> 6)].load(ordering: .relaxed) & (1 << UInt(number & 63)) != 0
    }

    /// Whether a page at the end of a table was found to be in no other table.
    @inline(__always)
    func isOwned(_ number: UInt64) -> Bool {
        unsafe examined[examinedWords + Int(number >> 6)].load(ordering: .relaxed) & (1 << UInt(number & 63)) != 0
    }

    func markOwned(_ number: UInt64) {
        unsafe examined[examinedWords + Int(number >> 6)].bitwiseOr(1 << UInt(number & 63), ordering: .relaxed)
    }

    /// The words of the bits of examined pages.
    private var examinedWords: Int { examinedBits.byteCount / 16 }

    /// How many pages were read, those in the inside of large values left out.
    ///
    /// - Complexity: O(size of the map).
    var examinedPages: Int {
        (0..<examinedWords).reduce(0) { count, index in
            unsafe count + examined[index].load(ordering: .relaxed).nonzeroBitCount
        }
    }

    func markExamined(_ number: UInt64) {
        unsafe examined[Int(number >> 6)].bitwiseOr(1 << UInt(number & 63), ordering: .relaxed)
    }

    /// Notes a commit that was found to be on disk, before anybody else reads.
    func confirm(_ commit: UInt64?) { confirmed = commit }

    /// Notes which pages are free, before anybody else reads.
    func noteFree(_ pages: FreePages) {
        free = pages
        for (index, word) in pages.words.enumerated() where word != 0 {
            unsafe examined[index].bitwiseAnd(~word, ordering: .relaxed)
        }
    }

    /// The table of this name; one that the environment was not opened with has no index.
    func tableName(_ key: KeyBytes) -> TableName {
        for (index, name) in tableNames.enumerated() {
            let isIt = unsafe name.span.withUnsafeBytes { unsafe KeyBytes($0).compare(key) == 0 }
            if isIt { return .named(index) }
        }
        return .other
    }

    /// The name of a table in errors.
    func words(for table: TableName) -> String {
        switch table {
        case .other: "a table of another program"
        case .named(let index): "table \"\(String(decoding: tableNames[index], as: UTF8.self))\""
        case .tables: "the table of tables"
        case .freePages: "the list of free pages"
        }
    }

    /// The error that names a page.
    func error(_ fault: PageFault, page: UInt64, _ table: TableName, operation: String = "read") -> LMDBError {
        LMDBError(
            fault == .beyondEnd ? .truncated : .corrupted, operation: operation, path: path,
            message:
                "The data file is damaged: page \(page) of \(words(for: table)) \(fault.words).",
            storeAdvice: Self.advice, table: named(table))
    }

    /// The name of a table that a user of the file gave it.
    private func named(_ table: TableName?) -> String? {
        guard case .named(let index)? = table else { return nil }
        return String(decoding: tableNames[index], as: UTF8.self)
    }

    /// The same for what an account of all pages found.
    func error(_ finding: PageAccount.Finding) -> LMDBError {
        LMDBError(
            .corrupted, operation: "check", path: path,
            message:
                "The data file is damaged: \(words(for: finding)).", storeAdvice: Self.advice,
            table: named(finding.table))
    }

    private static let advice = "Stop writing, run `traylog verify`, and restore a backup."

    func words(for finding: PageAccount.Finding) -> String {
        let table = finding.table.map { words(for: $0) }
        switch (finding.page, table) {
        case (let page?, let table?): return "page \(page) of \(table) \(finding.fault.words)"
        case (let page?, nil): return "page \(page) \(finding.fault.words)"
        case (nil, let table): return "\(table ?? "the file") \(finding.fault.words)"
        }
    }

    /// Of the file, and of two bits for each of its pages.
    private static func maps(
        _ file: FileDescriptor, _ byteCount: Int, _ pageSize: Int
    ) throws(SystemError) -> (MemoryMap, MemoryMap) {
        let bits = try MemoryMap(zeros: (byteCount / pageSize / 64 + 1) * 16)
        return (try MemoryMap(reading: file, byteCount: byteCount), bits)
    }

    private static func words(of bits: MemoryMap) -> UnsafeMutablePointer<Atomic<UInt>> {
        unsafe bits.base.bindMemory(to: Atomic<UInt>.self, capacity: bits.byteCount / 8)
    }
}

/// The pages that a commit lists as free, a bit for each.
struct FreePages: Sendable {
    /// The commit.
    let transaction: UInt64
    /// Each has the bits of 64 pages.
    private(set) var words: [UInt]

    /// - Parameter pageCount: pages from there on are left out.
    init(_ transaction: UInt64, pageCount: UInt64) {
        self.transaction = transaction
        words = Array(repeating: 0, count: Int((pageCount + 63) >> 6))
    }

    mutating func insert(_ number: UInt64) {
        guard number >> 6 < UInt64(words.count) else { return }
        words[Int(number >> 6)] |= 1 << UInt(number & 63)
    }

    @inline(__always)
    func contains(_ number: UInt64) -> Bool {
        number >> 6 < UInt64(words.count) && words[Int(number >> 6)] & (1 << UInt(number & 63)) != 0
    }
}
