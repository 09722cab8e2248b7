import CTraylogLMDB
import Glibc
import Synchronization

/// The data file mapped a second time, for reading pages without LMDB, which trusts them.
///
/// The map is replaced only while no transaction is under way.
@safe
final class PageMap: @unchecked Sendable {
    // @unchecked: `base` and `byteCount` change only inside of the gate's draining, when nobody reads; `suspects` and
    // `path` only before the file is shared; the bits are atomic.
    private(set) var base: UnsafeRawPointer
    private var byteCount: Int
    let pageSize: Int
    let pageShift: UInt64
    /// The data file as LMDB opened it, which closes it.
    private let descriptor: Int32
    private(set) var path: String
    /// The names of the tables by their index, as keys of the table of tables.
    let tableNames: [[UInt8]]
    /// Whole pages in the file, as far as was looked; a file only grows.
    private let filePages = Atomic<UInt64>(0)
    /// Pages that two places claim, so that neither can be believed.
    private(set) var suspects: [UInt64: PageFault] = [:]
    /// A bit for each page of the map: all of the page was examined since opening.
    private var examined: UnsafeMutablePointer<UInt>
    private var examinedBytes: Int

    /// - Parameter byteCount: the size of the map; a file may be shorter, and grow into it.
    init(
        descriptor: Int32, path: String, byteCount: Int, pageSize: Int, tableNames: [String]
    ) throws(LMDBError) {
        self.descriptor = descriptor
        self.path = path
        self.pageSize = pageSize
        self.byteCount = byteCount
        pageShift = UInt64(pageSize.trailingZeroBitCount)
        self.tableNames = tableNames.map { Array($0.utf8) }
        guard let base = unsafe Self.map(descriptor, byteCount) else {
            throw .system(errno, operation: "open", path: path)
        }
        examinedBytes = Self.bitBytes(byteCount, pageSize)
        guard let bits = unsafe Self.anonymous(examinedBytes) else {
            let number = errno
            unsafe munmap(UnsafeMutableRawPointer(mutating: base), byteCount)
            throw .system(number, operation: "open", path: path)
        }
        unsafe self.base = base
        unsafe examined = bits
    }

    deinit {
        unsafe munmap(UnsafeMutableRawPointer(mutating: base), byteCount)
        unsafe munmap(examined, examinedBytes)
    }

    /// Notes the name that the file has got, before anybody reads it under that.
    func move(to path: String) { self.path = path }

    /// Maps as much as LMDB does now.
    ///
    /// The caller knows that nobody reads.
    ///
    /// - Returns: false when the system has no room for it; the map is as before then.
    func resize(to newByteCount: Int) -> Bool {
        guard newByteCount != byteCount else { return true }
        let newBitBytes = Self.bitBytes(newByteCount, pageSize)
        guard let newBase = unsafe Self.map(descriptor, newByteCount) else { return false }
        guard let bits = unsafe Self.anonymous(newBitBytes) else {
            unsafe munmap(UnsafeMutableRawPointer(mutating: newBase), newByteCount)
            return false
        }
        unsafe munmap(UnsafeMutableRawPointer(mutating: base), byteCount)
        unsafe munmap(examined, examinedBytes)
        unsafe base = newBase
        byteCount = newByteCount
        unsafe examined = bits
        examinedBytes = newBitBytes
        return true
    }

    /// Tells the system whether pages will be read in a row, so that it reads ahead what is not in memory.
    func expectScan(_ isExpected: Bool) {
        let advice = isExpected ? POSIX_MADV_SEQUENTIAL : POSIX_MADV_RANDOM
        unsafe madvise(UnsafeMutableRawPointer(mutating: base), byteCount, Int32(advice))
    }

    /// How many pages can be read if the header says that there are `wanted`.
    func readablePages(_ wanted: UInt64) -> UInt64 {
        let mapped = UInt64(byteCount) >> pageShift
        var known = filePages.load(ordering: .relaxed)
        if known < wanted, let size = FileIdentity.status(descriptor: descriptor)?.size {
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
        unsafe traylog_bit_is_set(examined, UInt(number)) != 0
    }

    func markExamined(_ number: UInt64) {
        unsafe traylog_set_bit(examined, UInt(number))
    }

    /// Notes what was found at opening, before anybody else reads.
    func distrust(_ pages: [UInt64: PageFault]) {
        suspects = pages
        for number in pages.keys { unsafe examined[Int(number >> 6)] &= ~(1 << UInt(number & 63)) }
    }

    /// Which table has this name; one that the environment was not opened with has no index of its own.
    func tableName(_ key: KeyBytes) -> TableName {
        for (index, name) in tableNames.enumerated() {
            let isIt = unsafe name.span.withUnsafeBytes { unsafe KeyBytes($0).compare(key) == 0 }
            if isIt { return .named(index) }
        }
        return .other
    }

    /// How errors call a table.
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
                "The data file is damaged: page \(page) of \(words(for: table)) \(fault.words). Stop writing, run "
                + "`traylog verify`, and restore a backup.")
    }

    /// The same for what an account of all pages found.
    func error(_ finding: PageAccount.Finding) -> LMDBError {
        LMDBError(
            .corrupted, operation: "check", path: path,
            message:
                "The data file is damaged: \(words(for: finding)). Stop writing, run `traylog verify`, and restore a "
                + "backup.")
    }

    func words(for finding: PageAccount.Finding) -> String {
        let table = finding.table.map { words(for: $0) }
        switch (finding.page, table) {
        case (let page?, let table?): return "page \(page) of \(table) \(finding.fault.words)"
        case (let page?, nil): return "page \(page) \(finding.fault.words)"
        case (nil, let table): return "\(table ?? "the file") \(finding.fault.words)"
        }
    }

    private static func map(_ descriptor: Int32, _ byteCount: Int) -> UnsafeRawPointer? {
        let address = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
        guard unsafe address != MAP_FAILED, let address = unsafe address else { return nil }
        // As LMDB does: what lies beside a page is rarely wanted next.
        unsafe madvise(address, byteCount, Int32(POSIX_MADV_RANDOM))
        return UnsafeRawPointer(address)
    }

    /// Zeros, which take memory only where they are changed.
    private static func anonymous(_ byteCount: Int) -> UnsafeMutablePointer<UInt>? {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        let address = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
        guard unsafe address != MAP_FAILED, let address = unsafe address else { return nil }
        return unsafe address.bindMemory(to: UInt.self, capacity: byteCount / 8)
    }

    private static func bitBytes(_ byteCount: Int, _ pageSize: Int) -> Int {
        (byteCount / pageSize / 64 + 1) * 8
    }
}
