import CTraylogCRC

/// Looks at the pages that LMDB is about to trust in a write transaction.
///
/// LMDB reads and changes pages of the last commit without a look at their bytes. Whoever writes asks here first, and
/// each page is looked at once in a transaction. Pages that the transaction has changed already are LMDB's own.
@usableFromInline final class WriteCheck {
    let pages: PageMap
    let snapshot: Snapshot
    /// The commit that the transaction becomes.
    private let made: Snapshot
    private var note = CommitNote()
    /// Pages that were looked at in this transaction.
    private var examined: Set<UInt64> = []
    /// The leaf that was looked at last, by table: writes mostly go on in it.
    private var latest: [Leaf?]
    /// Tables whose end was looked at.
    private var endsExamined: [Bool]
    private var accounted = Accounted.no
    /// The first damage that the account found: it keeps every write from beginning.
    private(set) var damage: LMDBError?

    /// How it is known that each page is in one place, so that pages may be used again.
    private enum Accounted {
        case no
        /// The last commit left a note, and it fits: nothing has changed since an account, but for values with pages of their own.
        case byNote
        case byReading
    }

    private struct Leaf {
        var place: Place
        /// Whether its neighbours were checked, too.
        var hasNeighbors: Bool

        func covers(_ key: KeyBytes) -> Bool { place.bounds.contain(key) }
    }

    init(_ pages: PageMap) {
        self.pages = pages
        snapshot = Snapshot(pages)
        made = Snapshot(pages)
        latest = Array(repeating: nil, count: pages.tableNames.count)
        endsExamined = Array(repeating: false, count: pages.tableNames.count)
    }

    /// Begins with the commit that the transaction goes on from: its header, the table of tables, which every commit
    /// changes, and both ends of the list of free pages, where commits take and give.
    ///
    /// - Complexity: O(tables).
    func begin(after transaction: UInt64) throws(LMDBError) {
        examined.removeAll(keepingCapacity: true)
        for index in latest.indices {
            latest[index] = nil
            endsExamined[index] = false
        }
        // Nobody else commits now, so the header's page stays as it is.
        if case .gone = try snapshot.load(transaction) { throw pages.error(.record, page: transaction & 1, .tables) }
        if let tables = snapshot.tables { try examineAll(tables) }
        if let freeList = snapshot.freeList { try examineEnds(freeList) }
    }

    /// Notes which pages are free, at opening.
    func noteFree() { pages.noteFree(snapshot.freePages()) }

    /// Goes by the note that the last commit left, at opening.
    ///
    /// Where there is one and it does not fit, ``damage`` says what is wrong.
    func trustNote() {
        switch note.state(of: snapshot) {
        case .absent: break
        case .intact: accounted = .byNote
        // The error stays.
        case .changed: try? requirePagesOnce()
        }
    }

    /// The note of a commit that LMDB has just made; nil for a transaction that changed nothing, and where nobody knows that
    /// each page is in one place.
    func note(of commit: UInt64) -> UInt32? {
        guard accounted != .no, damage == nil, let loading = try? made.load(commit), loading != .gone
        else { return nil }
        return note.checksum(of: made, since: snapshot)
    }

    /// Leaves the note of a commit for which nothing else has to be noted.
    ///
    /// A failure costs the next process an account.
    func leaveNote(of commit: UInt64) {
        if let checksum = note(of: commit) { try? pages.markWritten(commit, leaving: checksum) }
    }

    /// Forgets the last commit, which failed: another one may get its number.
    func forgetNote() { note = CommitNote() }

    /// Takes account of all pages, unless that is needless: a page in two places would be lost with the next commit, so
    /// nothing is written then.
    ///
    /// - Complexity: O(branch pages), once.
    func requirePagesOnce() throws(LMDBError) {
        if let damage { throw damage }
        if accounted == .no { try takeAccount() }
    }

    private func takeAccount() throws(LMDBError) {
        let account = try PageAccount(snapshot, .outline)
        if let finding = account.findings.first(where: { $0.fault != .lost }) {
            let error = pages.error(finding)
            damage = error
            throw error
        }
        accounted = .byReading
    }

    /// For tests: ends the process unless a commit just made has every page in one place, and a note that fits.
    ///
    /// - Complexity: O(pages).
    func requireAccount(of commit: UInt64, leavesNote: Bool) throws(LMDBError) {
        guard try made.load(commit) != .gone else { return }
        if let finding = try PageAccount(made, .all).findings.first {
            preconditionFailure("Commit \(commit): \(pages.words(for: finding)).")
        }
        var fresh = CommitNote()
        precondition(!leavesNote || fresh.state(of: made) == .intact, "The note of commit \(commit) does not fit.")
    }

    /// Before a value is stored or looked up: the way to its leaf, and the value that is there.
    func checkKey(_ key: KeyBytes, in name: TableName) throws(LMDBError) {
        guard let table = try table(name) else { return }
        if let leaf = latest(name), leaf.covers(key) { return try checkValue(of: key, leaf.place, table) }
        let place = try examine(table) { $0.childIndex(for: key) }
        remember(Leaf(place: place, hasNeighbors: false), name)
        try checkValue(of: key, place, table)
    }

    /// Before a value is deleted: the same, and what lies beside the way, because LMDB
    /// moves entries between neighbors there.
    func checkNeighbors(of key: KeyBytes, in name: TableName) throws(LMDBError) {
        guard let table = try table(name) else { return }
        if let leaf = latest(name), leaf.hasNeighbors, leaf.covers(key) {
            return try checkValue(of: key, leaf.place, table)
        }
        let place = try examineNeighbors(of: key, table)
        remember(Leaf(place: place, hasNeighbors: true), name)
        try checkValue(of: key, place, table)
    }

    /// Before something is appended: the way to the last leaf.
    func checkLast(_ name: TableName) throws(LMDBError) {
        guard case .named(let index) = name, !endsExamined[index], let table = try table(name) else { return }
        _ = try examine(table) { $0.count - 1 }
        endsExamined[index] = true
    }

    /// The table's record; nil when there was nothing in it.
    private func table(_ name: TableName) throws(LMDBError) -> TableRecord? {
        guard case .named(let index) = name else { return nil }
        let record = try snapshot.record(Database(handle: 0, index: index))
        return record.isEmpty ? nil : record
    }

    private func latest(_ name: TableName) -> Leaf? {
        guard case .named(let index) = name else { return nil }
        return latest[index]
    }

    private func remember(_ leaf: Leaf, _ name: TableName) {
        if case .named(let index) = name { latest[index] = leaf }
    }

    /// LMDB gives up the pages of a large value that is replaced or deleted, by what they say of themselves.
    private func checkValue(of key: KeyBytes, _ place: Place, _ table: TableRecord) throws(LMDBError) {
        guard table.overflowPages > 0 else { return }
        guard let found = place.leaf.search(key) else { throw snapshot.error(.entries, place.leaf, table) }
        guard found.isExact else { return }
        guard let value = place.leaf.largeValue(found.index) else { return }
        let pages = try snapshot.overflowPages(value.page, byteCount: value.byteCount, table.name)
        // More than it needs is possible, but rare: then the sum over the table tells whether the number is right.
        if pages > UInt64(PageLayout.overflowPages(value.byteCount, pageSize: snapshot.pageSize)) {
            try checkOverflowPages(of: table)
        }
        guard accounted != .byReading else { return }
        let bytes = unsafe try snapshot.overflow(value.page, byteCount: value.byteCount, table.name)
        if unsafe !endsWithChecksum(bytes, key) { try takeAccount() }
    }

    /// Whether a value shows that it is the key's, and no other's: most of a store's end with the CRC-32C of key and value.
    private func endsWithChecksum(_ value: UnsafeRawBufferPointer, _ key: KeyBytes) -> Bool {
        guard value.count >= 4, let base = value.baseAddress, let keyBase = unsafe key.base else { return false }
        let end = value.count - 4
        let crc = unsafe traylog_crc32c(traylog_crc32c(0, keyBase, key.count), base, end)
        return unsafe UInt32(littleEndian: value.loadUnaligned(fromByteOffset: end, as: UInt32.self)) == crc
    }

    /// Holds what all large values of a table say of their pages against the table's record.
    private func checkOverflowPages(of table: TableRecord) throws(LMDBError) {
        var sum: UInt64 = 0
        var place = try snapshot.first(in: table)
        while let here = place {
            for index in 0..<here.count {
                guard let value = here.leaf.largeValue(index) else { continue }
                sum += try snapshot.overflowPages(value.page, byteCount: value.byteCount, table.name)
            }
            place = try snapshot.nextLeaf(here, table)
        }
        if sum != table.overflowPages { throw pages.error(.count, page: table.root, table.name) }
    }

    private func examineAll(_ table: TableRecord) throws(LMDBError) {
        guard !table.isEmpty else { return }
        var place: Place? = try examine(table) { _ in 0 }
        while let here = place, !here.bounds.upper.isNone {
            place = try examine(table) { $0.childIndex(for: here.bounds.upper) }
        }
    }

    private func examineEnds(_ freeList: TableRecord) throws(LMDBError) {
        guard !freeList.isEmpty else { return }
        for end in 0..<3 {
            let place = try examine(freeList) { branch in
                end == 2 ? branch.count - 1 : branch.count > 1 && end == 1 ? 1 : 0
            }
            // All of them were looked at when the store was opened, and LMDB takes the oldest ones next.
            for index in 0..<place.count {
                _ = try snapshot.freeRecord(place.leaf, index, freeList, isThorough: end == 0 && index < 4)
            }
            if freeList.depth == 1 { break }
        }
    }

    /// Goes down to the leaf of a key, and to both ends of what lies beside the way.
    private func examineNeighbors(of key: KeyBytes, _ table: TableRecord) throws(LMDBError) -> Place {
        var step = TreeStep(rootOf: table)
        while step.level < table.depth {
            let branch = try page(step.number, isLeaf: false, table.name)
            guard let index = branch.childIndex(for: key) else { throw snapshot.error(.entries, branch, table) }
            let next = try self.step(from: step, branch, index, table)
            for sibling in [index - 1, index + 1] where sibling >= 0 && sibling < branch.count {
                let beside = try self.step(from: step, branch, sibling, table)
                _ = try examine(table, from: beside) { _ in 0 }
                _ = try examine(table, from: beside) { $0.count - 1 }
            }
            _ = try examine(table, from: next) { _ in 0 }
            step = next
        }
        return try examine(table, from: step) { _ in nil }
    }

    /// Goes from the root, or from a page below it, to a leaf, and looks at each page of the way.
    private func examine(
        _ table: TableRecord, from start: TreeStep? = nil, _ choose: (Page) -> Int?
    ) throws(LMDBError) -> Place {
        let place = try descend(table, from: start ?? TreeStep(rootOf: table), choose)
        if table.name != .freePages { try snapshot.checkRange(place, table) }
        return place
    }
}

extension WriteCheck: TreeReader {
    func page(_ number: UInt64, isLeaf: Bool, _ table: TableName) throws(LMDBError) -> Page {
        let page = try snapshot.page(number, isLeaf: isLeaf, table)
        if examined.insert(number).inserted,
            let fault = page.fault(isLeaf: isLeaf, table.content, pageCount: snapshot.pageCount)
        {
            throw pages.error(fault, page: number, table)
        }
        return page
    }
}
