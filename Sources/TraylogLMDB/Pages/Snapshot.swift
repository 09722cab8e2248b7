import Synchronization
import TraylogPlatform

/// One commit as the pages of the file tell it, read with every number checked.
///
/// It belongs to a transaction of LMDB, which keeps the pages from being used again, and to one thread at a time.
@safe
@usableFromInline final class Snapshot {
    let pages: PageMap
    /// Of the commit; the map it was read from may be another one by now.
    private(set) var transaction = UInt64.max
    private var base: UnsafeRawPointer
    let pageShift: UInt64
    let pageSize: Int
    /// As the header says.
    private(set) var pageCount: UInt64 = 0
    /// Those of them that are in the file.
    private(set) var readablePages: UInt64 = 0
    private(set) var freeList: TableRecord?
    private(set) var tables: TableRecord?
    private var records: [TableRecord?]
    /// The place of the last number that was looked up: events of one user, or of one moment, lie close together.
    private var lastLeaf: NumberedLeaf?

    init(_ pages: PageMap) {
        self.pages = pages
        unsafe base = pages.base
        pageShift = pages.pageShift
        pageSize = pages.pageSize
        records = Array(repeating: nil, count: pages.tableNames.count)
    }

    /// The proof, so far, that the commit was read whole.
    enum Loading {
        case whole
        /// A later commit was under way, so parts of two commits may have been read. It was whole if the newest commit is still
        /// this one afterwards.
        case perhapsTorn
        /// The header is of another commit already.
        case gone
    }

    /// Whether it shows that commit already, through the present map.
    func shows(_ transaction: UInt64) -> Bool {
        unsafe self.transaction == transaction && base == pages.base
    }

    /// Whether no page of the commit was written over so far, told without a place among the readers.
    ///
    /// LMDB takes a page again no earlier than in the second commit after the one that freed it. So the pages of a commit are
    /// all there until the third commit after it begins, which is after the second one is in the header.
    var isWhole: Bool {
        // What was read before is not read later than the header.
        atomicMemoryFence(ordering: .acquiring)
        return pages.newestCommit <= transaction &+ 1
    }

    /// Forgets what it shows.
    func forget() {
        transaction = .max
        lastLeaf = nil
    }

    /// The leaf that was looked at last, if a number of that table belongs into it.
    @inline(__always)
    func recentLeaf(_ number: UInt64, _ database: Database) -> Page? {
        guard let lastLeaf, lastLeaf.table == database.index, lastLeaf.numbers.contains(number) else { return nil }
        return lastLeaf.page
    }

    /// Keeps a leaf of numbers for the next look.
    @inline(__always)
    func keep(_ leaf: Page, _ database: Database) {
        guard let first = leaf.key(0)?.bigEndian, let last = leaf.key(leaf.count - 1)?.bigEndian, first <= last else {
            return
        }
        lastLeaf = NumberedLeaf(page: leaf, table: database.index, numbers: first...last)
    }

    /// Takes over the header's page of a commit.
    ///
    /// Commits write the two pages alternately, so a commit overwrites the page of the one before the last.
    ///
    /// - Throws: ``LMDBError/Code/corrupted`` when the page makes no sense.
    func load(_ wanted: UInt64) throws(LMDBError) -> Loading {
        forget()
        guard pages.readablePages(2) == 2 else { throw pages.error(.beyondEnd, page: 1, .tables) }
        let commit = pages.meta(of: wanted).commit
        let other = pages.meta(of: ~wanted).number
        guard let commit else {
            if other > wanted { return .gone }
            throw pages.error(.record, page: wanted & 1, .tables)
        }
        guard commit.number == wanted else { return .gone }
        take(commit)
        transaction = wanted
        let isBefore = other &+ 1 == wanted || other == 0 && wanted == 0
        return isBefore ? .whole : .perhapsTorn
    }

    private func take(_ commit: MetaPage.Commit) {
        unsafe base = pages.base
        pageCount = commit.lastPage + 1
        readablePages = pages.readablePages(pageCount)
        freeList = commit.freeList
        tables = commit.tables
        for index in records.indices { records[index] = nil }
        lastLeaf = nil
    }

    /// Takes over the header's page of the commit before the newest, if it shows the one after that under its number.
    ///
    /// - Returns: the number of that commit; nil for a header as it should be.
    func loadRenumbered(behind newest: UInt64) -> UInt64? {
        forget()
        guard pages.readablePages(2) == 2, let commit = pages.meta(of: ~newest).commit, commit.number &+ 1 == newest
        else { return nil }
        take(commit)
        guard let freed = try? newestFreed(commit.freeList), freed == newest + 1 else { return nil }
        transaction = freed
        return freed
    }

    /// A page, which must be a branch or a leaf of the table.
    @inline(__always)
    func page(_ number: UInt64, isLeaf: Bool, _ table: TableName) throws(LMDBError) -> Page {
        guard number < readablePages, number >= PageLayout.firstPage else { throw unreadable(number, table) }
        let page = unsafe Page(base: base + Int(number << pageShift), size: pageSize)
        guard page.number == number, page.flags == (isLeaf ? PageLayout.leaf : PageLayout.branch), page.count > 0 else {
            throw pages.error(headerFault(page, number, isLeaf: isLeaf) ?? .kind, page: number, table)
        }
        if !pages.isExamined(number) { try examine(page, number, isLeaf: isLeaf, table) }
        return page
    }

    /// Looks at all of a page that was not looked at since the store was opened.
    private func examine(_ page: Page, _ number: UInt64, isLeaf: Bool, _ table: TableName) throws(LMDBError) {
        if isFree(number, table) { throw pages.error(.free, page: number, table) }
        if let fault = page.fault(isLeaf: isLeaf, table.content, pageCount: pageCount) {
            throw pages.error(fault, page: number, table)
        }
        pages.markExamined(number)
    }

    private func unreadable(_ number: UInt64, _ table: TableName) -> LMDBError {
        pages.error(number < pageCount && number >= readablePages ? .beyondEnd : .outside, page: number, table)
    }

    /// The fault of a page, for a list of findings; nil when it is sound.
    func fault(of number: UInt64, isLeaf: Bool, _ table: TableName) -> PageFault? {
        guard number >= PageLayout.firstPage, number < pageCount else { return .outside }
        guard number < readablePages else { return .beyondEnd }
        let page = unsafe Page(base: base + Int(number << pageShift), size: pageSize)
        return headerFault(page, number, isLeaf: isLeaf)
            ?? page.fault(isLeaf: isLeaf, table.content, pageCount: pageCount)
    }

    private func headerFault(_ page: Page, _ number: UInt64, isLeaf: Bool) -> PageFault? {
        let isKind = page.flags == (isLeaf ? PageLayout.leaf : PageLayout.branch)
        let isOther = page.flags == (isLeaf ? PageLayout.branch : PageLayout.leaf)
        if page.number != number { return .misplaced }
        if isOther { return .depth }
        if !isKind { return .kind }
        return page.count > 0 ? nil : .entries
    }

    /// The bytes of a large value.
    @unsafe func overflow(
        _ number: UInt64, byteCount: Int, _ table: TableName
    ) throws(LMDBError) -> UnsafeRawBufferPointer {
        let count = UInt64(PageLayout.overflowPages(byteCount, pageSize: pageSize))
        guard number >= PageLayout.firstPage, number < readablePages, count <= readablePages - number else {
            throw unreadable(number < readablePages ? min(number + count - 1, pageCount) : number, table)
        }
        let page = unsafe Page(base: base + Int(number << pageShift), size: pageSize)
        // A value that became smaller in the transaction that stored it keeps its pages.
        guard page.number == number, page.flags == PageLayout.overflow, page.overflowPages >= Int(count),
            UInt64(page.overflowPages) <= pageCount - number
        else {
            throw pages.error(page.number == number ? .value : .misplaced, page: number, table)
        }
        if !pages.isExamined(number) {
            if isFree(number, table) { throw pages.error(.free, page: number, table) }
            pages.markExamined(number)
        }
        return unsafe UnsafeRawBufferPointer(
            start: base + Int(number << pageShift) + PageLayout.headerBytes, count: byteCount)
    }

    /// The number of pages of a large value.
    func overflowPages(_ number: UInt64, byteCount: Int, _ table: TableName) throws(LMDBError) -> UInt64 {
        unsafe _ = try overflow(number, byteCount: byteCount, table)
        return UInt64(pages.page(number).overflowPages)
    }

    /// The record of a table; an empty one when the file has no such table.
    @inline(__always)
    func record(_ database: Database) throws(LMDBError) -> TableRecord {
        if let record = records[database.index] { return record }
        return try findRecord(database)
    }

    private func findRecord(_ database: Database) throws(LMDBError) -> TableRecord {
        guard let record = try tableRecord(database.index) else {
            throw LMDBError(
                .missingDatabase, operation: "read", path: pages.path,
                message: "The file has no \(pages.words(for: .named(database.index))): restore a backup.")
        }
        return record
    }

    /// The record of a table; nil when the file has none of that name.
    func tableRecord(_ index: Int) throws(LMDBError) -> TableRecord? {
        if let record = records[index] { return record }
        guard let record = try uncheckedRecord(index) else { return nil }
        try checkRoot(record)
        records[index] = record
        return record
    }

    /// Whether there is a table, whatever its pages say.
    func hasTable(_ index: Int) throws(LMDBError) -> Bool { try uncheckedRecord(index) != nil }

    private func uncheckedRecord(_ index: Int) throws(LMDBError) -> TableRecord? {
        guard let tables else { return nil }
        let name = pages.tableNames[index]
        let place: Place? = unsafe try name.span.withUnsafeBytes { (name) throws(LMDBError) in
            unsafe try find(KeyBytes(name), in: tables)
        }
        guard let place else { return nil }
        guard let value = place.leaf.value(place.index), value.flags == PageLayout.table,
            value.byteCount == TableRecord.byteCount,
            let record = TableRecord(
                place.leaf, at: value.offset, name: .named(index), flags: 0, pageCount: pageCount)
        else { throw pages.error(.record, page: place.leaf.number, .tables) }
        return record
    }

    /// Makes sure that a record's root is not the page of another table: as far as one page tells, it has as many entries
    /// as the record counts.
    private func checkRoot(_ record: TableRecord) throws(LMDBError) {
        let counted: UInt64
        switch record.depth {
        case 1: counted = record.entries
        case 2: counted = record.leafPages
        case 3: counted = record.branchPages - 1
        default: return
        }
        let root = try page(record.root, isLeaf: record.depth == 1, record.name)
        if UInt64(root.count) != counted { throw pages.error(.count, page: record.root, record.name) }
    }
}

/// A leaf whose keys are numbers.
private struct NumberedLeaf {
    var page: Page
    /// The table's index.
    var table: Int
    var numbers: ClosedRange<UInt64>
}

extension Snapshot {
    /// Makes sure that a page at the end of a table is not another table's.
    ///
    /// In the middle of a table, the keys that the branch above promises tell. Before the first of them and after the last
    /// one, they promise too little: a leaf of another table, with lower or higher keys, would look as if nothing were there.
    ///
    /// - Complexity: O(tables × depth) when a page is met for the first time since opening; then O(1).
    @inline(__always)
    func confirmOwner(of number: UInt64, _ table: TableRecord) throws(LMDBError) {
        guard number < readablePages, !pages.isOwned(number) else { return }
        try searchOwner(of: number, table)
    }

    private func searchOwner(of number: UInt64, _ table: TableRecord) throws(LMDBError) {
        // The records of tables look unlike any other rows.
        guard table.name != .tables else { return }
        let page = pages.page(number)
        // The first key of a branch is not looked at by anybody; whoever goes on to the page finds out what is wrong with it.
        guard let key = page.key(page.flags == PageLayout.leaf ? 0 : 1) else { return }
        var others = pages.tableNames.indices.map { TableName.named($0) }
        others.append(.freePages)
        for other in others where other != table.name {
            if leads(other, to: number, key) { throw pages.error(.twice, page: number, table.name) }
        }
        pages.markOwned(number)
    }

    /// Whether a table has a page, which is on the way to a key then.
    private func leads(_ name: TableName, to sought: UInt64, _ key: KeyBytes) -> Bool {
        let record: TableRecord?
        if case .named(let index) = name { record = try? tableRecord(index) } else { record = freeList }
        guard let record, !record.isEmpty else { return false }
        return (try? number(on: key, in: record, orAt: sought, isNumber: name == .freePages)) == sought
    }

    /// One record of the list: the pages that a commit freed, descending.
    @safe
    struct FreeRecord {
        /// The commit.
        var transaction: UInt64
        /// The leaf it stands in.
        var page: UInt64
        let count: Int
        private let numbers: UnsafeRawBufferPointer

        /// Nil when the count is greater than the value.
        @unsafe init?(transaction: UInt64, page: UInt64, _ bytes: UnsafeRawBufferPointer) {
            guard bytes.count >= 8, bytes.count & 7 == 0 else { return nil }
            let count = unsafe bytes.loadUnaligned(as: UInt64.self)
            guard count <= UInt64(bytes.count / 8 - 1) else { return nil }
            self.transaction = transaction
            self.page = page
            self.count = Int(count)
            unsafe numbers = UnsafeRawBufferPointer(rebasing: bytes[8...])
        }

        /// - Parameter index: below ``count``.
        subscript(index: Int) -> UInt64 {
            unsafe numbers.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
        }

        /// Whether a page is among them, if they descend.
        func contains(_ number: UInt64) -> Bool {
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) >> 1
                if self[middle] > number { low = middle + 1 } else { high = middle }
            }
            return low < count && self[low] == number
        }

        /// Whether the pages descend, and are pages of the file.
        func isSound(pageCount: UInt64) -> Bool {
            var previous = pageCount
            for index in 0..<count {
                let number = self[index]
                guard number < previous, number >= PageLayout.firstPage else { return false }
                previous = number
            }
            return true
        }
    }

    /// Calls `body` with the records of the list of free pages, in their order, until it returns false.
    ///
    /// - Parameter isThorough: whether the pages of each record are looked at one by one.
    /// - Throws: ``LMDBError`` for a damaged page; and what `body` throws.
    func forEachFreeRecord(
        isThorough: Bool = true, _ body: (FreeRecord) throws(LMDBError) -> Bool
    ) throws(LMDBError) {
        guard let table = freeList, !table.isEmpty else { return }
        var from: UInt64 = 0
        while true {
            // Whether a page is another table's is a question that the list itself has to answer.
            let place = try descend(table, from: TreeStep(rootOf: table), comparesKeys: false) {
                $0.childIndex(forNumber: from)
            }
            for index in 0..<place.count {
                guard try body(freeRecord(place.leaf, index, table, isThorough: isThorough)) else { return }
            }
            guard !place.bounds.upper.isNone else { return }
            guard let next = place.bounds.upper.number, next > from else { throw error(.entries, place.leaf, table) }
            from = next
        }
    }

    /// A record, whose pages are looked at one by one if `isThorough`.
    func freeRecord(
        _ leaf: Page, _ index: Int, _ table: TableRecord, isThorough: Bool = true
    ) throws(LMDBError) -> FreeRecord {
        guard let key = leaf.key(index)?.number, let value = leaf.value(index) else {
            throw error(.entries, leaf, table)
        }
        let bytes = unsafe try self.value(index, of: leaf, .freePages)
        guard value.byteCount == bytes.count,
            let record = unsafe FreeRecord(transaction: key, page: leaf.number, bytes),
            !isThorough || record.isSound(pageCount: pageCount)
        else { throw error(.entries, leaf, table) }
        return record
    }

    /// The pages that the commit lists as free, as far as the list can be read: who writes needs all of it, and finds out.
    ///
    /// - Complexity: O(free pages).
    func freePages() -> FreePages {
        var free = FreePages(transaction, pageCount: readablePages)
        try? forEachFreeRecord { record in
            for index in 0..<record.count { free.insert(record[index]) }
            return true
        }
        return free
    }

    /// Whether a page that is read for the first time since opening is listed as free, so that a wrong number led there.
    ///
    /// A later commit may have used the page again, which its own list tells.
    func isFree(_ number: UInt64, _ table: TableName) -> Bool {
        guard pages.free.contains(number) else { return false }
        if pages.free.transaction == transaction { return true }
        // The list is not asked about its own pages.
        guard table != .freePages else { return false }
        var isListed = false
        try? forEachFreeRecord(isThorough: false) { record in
            isListed = record.contains(number)
            return !isListed
        }
        return isListed
    }

    /// - Complexity: O(free pages).
    func countFreePages() throws(LMDBError) -> Int {
        var count = 0
        try forEachFreeRecord { record in
            count += record.count
            return true
        }
        return count
    }

    /// Makes sure that the commit is the one that the header says: each lists the pages that it freed under its own number,
    /// and there always are some, after the first commits.
    ///
    /// A changed number could also make the newest commit look like the one before this one. Its last page gives it away,
    /// if it made the file longer, because that number never becomes smaller. Its tables prove nothing: after a header's
    /// page that could not be written LMDB puts the old number and the old last page back, and leaves the new tables.
    func checkCommits() throws(LMDBError) {
        // A commit that was taken back has the list of one before.
        let isTakenBack = pages.isTakenBack(transaction)
        if let freeList, let newest = try newestFreed(freeList),
            isTakenBack ? newest >= transaction : newest != transaction
        {
            throw pages.error(.record, page: transaction & 1, .tables)
        }
        guard isEarlierLonger() else { return }
        // A commit may be under way, which writes the last page before the number.
        OSThread.sleep(milliseconds: 2)
        if isEarlierLonger() { throw pages.error(.record, page: ~transaction & 1, .tables) }
    }

    /// Whether the commit before this one says that the file was longer.
    private func isEarlierLonger() -> Bool {
        guard let other = pages.meta(of: ~transaction).commit else { return false }
        return other.number &+ 1 == transaction && other.lastPage >= pageCount
    }

    /// The last commit in a list of free pages; nil when the list is empty.
    func newestFreed(_ table: TableRecord) throws(LMDBError) -> UInt64? {
        guard !table.isEmpty else { return nil }
        let place = try descend(table) { $0.count - 1 }
        return place.leaf.key(place.count - 1)?.number
    }
}
