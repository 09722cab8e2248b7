/// The pages that a commit wrote: those of its trees that the trees of the commit before do not have.
///
/// LMDB changes no page in place. So a page that both have is the same, with all that is below it, and both trees are
/// gone down side by side, leaving out what they share.
struct WrittenPages {
    private(set) var numbers: [UInt64] = []
    private let pages: PageMap
    private let pageCount: UInt64
    private let limit: Int

    /// Nil when there are more than `limit`, or when a tree makes no sense.
    ///
    /// - Complexity: O(entries of the branches that were changed).
    static func numbers(of new: Snapshot, since old: Snapshot, limit: Int) throws(LMDBError) -> [UInt64]? {
        var written = WrittenPages(pages: new.pages, pageCount: new.readablePages, limit: limit)
        guard written.add(new.freeList, since: old.freeList), written.add(new.tables, since: old.tables) else {
            return nil
        }
        for index in new.pages.tableNames.indices {
            guard written.add(try new.tableRecord(index), since: try old.tableRecord(index)) else { return nil }
        }
        return written.numbers
    }

    private init(pages: PageMap, pageCount: UInt64, limit: Int) {
        self.pages = pages
        self.pageCount = pageCount
        self.limit = limit
    }

    private mutating func add(_ new: TableRecord?, since old: TableRecord?) -> Bool {
        guard let new, !new.isEmpty, new.root != old?.root else { return true }
        let oldDepth = old?.depth ?? 0
        var here = [new.root]
        var there: [UInt64] = []
        // From the leaves, which are level 1.
        for level in stride(from: max(new.depth, oldDepth), through: 1, by: -1) {
            if let old, level == oldDepth { there = [old.root] }
            if level <= new.depth {
                if level <= oldDepth { WrittenPages.leaveOutShared(&here, &there) }
                numbers += here
                guard numbers.count <= limit, let below = below(here, level, new) else { return false }
                here = below
            }
            if let old, level <= oldDepth {
                guard let below = below(there, level, old) else { return false }
                there = below
            }
        }
        return addLarge(here, since: there)
    }

    /// Adds the pages of large values.
    private mutating func addLarge(_ new: [UInt64], since old: [UInt64]) -> Bool {
        var (new, old) = (new, old)
        WrittenPages.leaveOutShared(&new, &old)
        for first in new {
            guard first < pageCount else { return false }
            let count = UInt64(pages.page(first).overflowPages)
            guard count > 0, count <= pageCount - first, numbers.count + Int(count) <= limit else { return false }
            numbers += first..<(first + count)
        }
        return true
    }

    /// The pages below some of a tree; below leaves those of large values.
    ///
    /// Nil when one makes no sense.
    private func below(_ numbers: [UInt64], _ level: Int, _ table: TableRecord) -> [UInt64]? {
        if level == 1, table.overflowPages == 0 { return [] }
        var below: [UInt64] = []
        for number in numbers {
            guard number >= PageLayout.firstPage, number < pageCount else { return nil }
            let page = pages.page(number)
            for index in 0..<page.count {
                if level > 1 {
                    guard let child = page.child(index) else { return nil }
                    below.append(child)
                } else {
                    guard let value = page.value(index) else { return nil }
                    if value.isBig, let first = page.number(at: value.offset) { below.append(first) }
                }
            }
        }
        return below
    }

    /// Takes out of both lists what they share, which mostly stands at the same places of their beginnings and ends.
    private static func leaveOutShared(_ new: inout [UInt64], _ old: inout [UInt64]) {
        let shared = min(new.count, old.count)
        var start = 0
        while start < shared, new[start] == old[start] { start += 1 }
        var end = 0
        while end < shared - start, new[new.count - 1 - end] == old[old.count - 1 - end] { end += 1 }
        new = Array(new[start..<(new.count - end)])
        old = Array(old[start..<(old.count - end)])
        guard new.count > 1 || old.count > 1 else { return }
        let (inNew, inOld) = (Set(new), Set(old))
        new.removeAll { inOld.contains($0) }
        old.removeAll { inNew.contains($0) }
    }
}
