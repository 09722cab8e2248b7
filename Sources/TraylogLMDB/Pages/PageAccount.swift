/// The owner of each page of the file, as one commit says: a table, the list of free pages, or nobody.
///
/// Every page has to be in exactly one place. A damaged page is noted and what is below it left out, so that one walk
/// finds all there is to find.
struct PageAccount {
    /// The depth of the check.
    enum Depth {
        /// At branches, at the list of free pages, and at leaves only where large values hang on them.
        case outline
        /// At every page but the inside of large values.
        case all
    }

    /// One thing that is wrong.
    struct Finding: Hashable, Sendable {
        /// Nil where it is the table as a whole.
        var page: UInt64?
        var table: TableName?
        var fault: PageFault
    }

    private enum Owner: UInt8 {
        case nobody, header, table, free
    }

    private(set) var findings: [Finding] = []
    /// Pages in use or free.
    private(set) var claimed: UInt64 = 0
    /// Whether something could not be looked at, so that pages may only seem to be nobody's.
    private(set) var isPartial = false
    private let snapshot: Snapshot
    private let depth: Depth
    private var owners: [UInt8]
    /// The counts of the present table.
    private var counts = Counts()

    private struct Counts {
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
    }

    /// Takes account of everything.
    ///
    /// - Parameter progress: gets the pages that are done; it may end the account by throwing.
    /// - Complexity: O(pages) for ``Depth/all``; for an outline some 200 times less.
    init(
        _ snapshot: Snapshot, _ depth: Depth, progress: (UInt64) throws(LMDBError) -> Void = { _ in }
    ) throws(LMDBError) {
        self.snapshot = snapshot
        self.depth = depth
        owners = Array(repeating: 0, count: Int(min(snapshot.pageCount, 1 << 40)))
        for page in 0..<min(2, owners.count) { owners[page] = Owner.header.rawValue }
        claimed = 2
        try takeFreeList()
        try progress(claimed)
        if let tables = snapshot.tables {
            take(tables)
            for table in records(tables) {
                take(table)
                try progress(claimed)
            }
        }
        takeLostPages()
    }

    private mutating func find(_ fault: PageFault, _ page: UInt64?, _ table: TableName?) {
        findings.append(Finding(page: page, table: table, fault: fault))
    }

    /// Notes that a page is in use; false when it cannot be.
    private mutating func claim(_ number: UInt64, _ table: TableName) -> Bool {
        guard number < owners.count else {
            find(.outside, number, table)
            isPartial = true
            return false
        }
        switch Owner(rawValue: owners[Int(number)]) {
        case .nobody:
            owners[Int(number)] = Owner.table.rawValue
            claimed += 1
            return true
        case .free: find(.free, number, table)
        default: find(.twice, number, table)
        }
        isPartial = true
        return false
    }

    private mutating func takeFreeList() throws(LMDBError) {
        guard let table = snapshot.freeList else { return }
        take(table)
        do {
            try snapshot.forEachFreeRecord { (record) throws(LMDBError) in
                for index in 0..<record.count {
                    let number = record[index]
                    if owners[Int(number)] != Owner.nobody.rawValue {
                        find(owners[Int(number)] == Owner.free.rawValue ? .twice : .free, number, .freePages)
                        continue
                    }
                    owners[Int(number)] = Owner.free.rawValue
                    claimed += 1
                }
                return true
            }
        } catch {
            isPartial = true
            if findings.isEmpty { find(.entries, snapshot.freeList?.root, .freePages) }
        }
    }

    /// The records of all tables, also of those that the environment was not opened with.
    private mutating func records(_ tables: TableRecord) -> [TableRecord] {
        var records: [TableRecord] = []
        do {
            var place = try snapshot.first(in: tables)
            while let here = place {
                for index in 0..<here.count {
                    guard let value = here.leaf.value(index), let key = here.leaf.key(index),
                        let record = TableRecord(
                            here.leaf, at: value.offset, name: snapshot.pages.tableName(key), flags: 0,
                            pageCount: snapshot.pageCount)
                    else {
                        find(.record, here.leaf.number, .tables)
                        isPartial = true
                        continue
                    }
                    records.append(record)
                }
                place = try snapshot.nextLeaf(here, tables)
            }
        } catch {
            isPartial = true
        }
        return records
    }

    private mutating func take(_ table: TableRecord) {
        counts = Counts()
        let wasPartial = isPartial
        isPartial = false
        defer { isPartial = isPartial || wasPartial }
        guard !table.isEmpty else { return }
        take(TreeStep(rootOf: table), table)
        guard !isPartial else { return }
        let hasLeaves = depth == .all || table.overflowPages > 0
        let isRight =
            counts.branchPages == table.branchPages && counts.leafPages == table.leafPages
            && (!hasLeaves || counts.overflowPages == table.overflowPages && counts.entries == table.entries)
        if !isRight { find(.count, nil, table.name) }
    }

    /// A page of a table's tree, and all below it.
    private mutating func take(_ step: TreeStep, _ table: TableRecord) {
        guard claim(step.number, table.name) else { return }
        let isLeaf = step.level == table.depth
        if isLeaf { counts.leafPages += 1 } else { counts.branchPages += 1 }
        if isLeaf, depth == .outline, table.overflowPages == 0 { return }
        guard let page = read(step.number, isLeaf: isLeaf, table) else { return }
        if let fault = step.bounds.fault(of: page, isLeaf: isLeaf, table.name.content) {
            find(fault, step.number, table.name)
        }
        guard !isLeaf else { return takeValues(page, table) }
        for index in 0..<page.count {
            if let below = step.below(page, index) { take(below, table) }
        }
    }

    private mutating func read(_ number: UInt64, isLeaf: Bool, _ table: TableRecord) -> Page? {
        do {
            let page = try snapshot.page(number, isLeaf: isLeaf, table.name)
            if depth == .all || !isLeaf,
                let fault = page.fault(isLeaf: isLeaf, table.name.content, pageCount: snapshot.pageCount)
            {
                find(fault, number, table.name)
                isPartial = true
                return nil
            }
            return page
        } catch {
            find(snapshot.fault(of: number, isLeaf: isLeaf, table.name) ?? .entries, number, table.name)
            isPartial = true
            return nil
        }
    }

    private mutating func takeValues(_ page: Page, _ table: TableRecord) {
        counts.entries += UInt64(page.count)
        guard table.overflowPages > 0 else { return }
        for index in 0..<page.count {
            guard let value = page.largeValue(index) else { continue }
            var count = UInt64(PageLayout.overflowPages(value.byteCount, pageSize: snapshot.pageSize))
            do {
                // The first page says how many there are, which may be more than are needed.
                count = max(count, try snapshot.overflowPages(value.page, byteCount: value.byteCount, table.name))
            } catch {
                find(.value, value.page, table.name)
                isPartial = true
                continue
            }
            for offset in 0..<count where !claim(value.page + offset, table.name) { break }
            counts.overflowPages += count
        }
    }

    private mutating func takeLostPages() {
        guard !isPartial, claimed < owners.count else { return }
        for (number, owner) in owners.enumerated() where owner == Owner.nobody.rawValue {
            find(.lost, UInt64(number), nil)
            if findings.count >= 1_000 { return }
        }
    }
}
