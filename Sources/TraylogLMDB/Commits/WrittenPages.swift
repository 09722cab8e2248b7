/// The pages that a commit wrote: those of its trees that the trees of the commit before do not have.
///
/// LMDB changes no page in place. So a page that both have is the same, with all that is below it, and both trees are
/// gone down side by side, leaving out what they share. A shared page that is not noticed costs the time to look at it.
///
/// The lists are used again, so that a small commit asks for little memory.
struct WrittenPages {
    /// Branches and leaves.
    private(set) var ofTrees: [UInt64] = []
    /// Pages of large values, of which only the first one of each has a header.
    private(set) var ofValues: [UInt64] = []
    /// Pages that the commit before had and this one does not have; only of a single tree.
    private(set) var dropped: [UInt64] = []
    private var keepsDropped = false
    /// The pages of one level of both trees, and what one of them becomes.
    private var here: [UInt64] = []
    private var there: [UInt64] = []
    private var spare: [UInt64] = []
    /// Tables that the commit changed.
    private var tables: [(new: TableRecord, old: TableRecord)] = []

    var count: Int { ofTrees.count + ofValues.count }

    /// Finds them anew.
    ///
    /// - Returns: false when there are more than `limit`, or when a tree makes no sense.
    /// - Complexity: O(entries of the branches that were changed).
    mutating func find(of new: Snapshot, since old: Snapshot, limit: Int) throws(LMDBError) -> Bool {
        ofTrees.removeAll(keepingCapacity: true)
        ofValues.removeAll(keepingCapacity: true)
        guard add(new.freeList, since: old.freeList, new, limit), add(new.tables, since: old.tables, new, limit) else {
            return false
        }
        if try findTables(of: new, since: old) {
            for index in tables.indices {
                guard add(tables[index].new, since: tables[index].old, new, limit) else { return false }
            }
            return true
        }
        for index in 0..<new.pages.tableNames.count {
            guard add(try new.tableRecord(index), since: try old.tableRecord(index), new, limit) else { return false }
        }
        return true
    }

    /// Finds those of a single tree anew, and what it dropped.
    ///
    /// - Parameter old: the tree before, not empty; nil for all pages.
    /// - Returns: false when the tree makes no sense.
    /// - Complexity: as above.
    mutating func find(_ new: TableRecord, since old: TableRecord?, in snapshot: Snapshot) -> Bool {
        ofTrees.removeAll(keepingCapacity: true)
        ofValues.removeAll(keepingCapacity: true)
        dropped.removeAll(keepingCapacity: true)
        keepsDropped = true
        defer { keepsDropped = false }
        return add(new, since: old, snapshot, Int(new.pages))
    }

    /// Finds the tables whose records differ, side by side in the two leaves that mostly hold all of them.
    ///
    /// - Returns: false where the commits have other tables, or more than a leaf of them: each has to be searched then.
    private mutating func findTables(of new: Snapshot, since old: Snapshot) throws(LMDBError) -> Bool {
        tables.removeAll(keepingCapacity: true)
        guard let newTables = new.tables, let oldTables = old.tables, newTables.depth == 1, oldTables.depth == 1
        else { return false }
        let (newLeaf, oldLeaf) = (
            try new.page(newTables.root, isLeaf: true, .tables), try old.page(oldTables.root, isLeaf: true, .tables)
        )
        guard newLeaf.count == oldLeaf.count else { return false }
        for index in 0..<newLeaf.count {
            guard let key = newLeaf.key(index), let oldKey = oldLeaf.key(index), key.compare(oldKey) == 0,
                let value = newLeaf.value(index), let oldValue = oldLeaf.value(index)
            else { return false }
            // Every change of a table gives it another root.
            guard
                newLeaf.number(at: value.offset + TableRecord.rootOffset)
                    != oldLeaf.number(at: oldValue.offset + TableRecord.rootOffset)
            else { continue }
            let name = new.pages.tableName(key)
            guard
                let record = TableRecord(newLeaf, at: value.offset, name: name, flags: 0, pageCount: new.pageCount),
                let oldRecord = TableRecord(
                    oldLeaf, at: oldValue.offset, name: name, flags: 0, pageCount: old.pageCount)
            else { return false }
            tables.append((record, oldRecord))
        }
        return true
    }

    private mutating func add(
        _ new: TableRecord?, since old: TableRecord?, _ snapshot: Snapshot, _ limit: Int
    ) -> Bool {
        guard let new, !new.isEmpty, new.root != old?.root else { return true }
        let oldDepth = old?.depth ?? 0
        here.removeAll(keepingCapacity: true)
        there.removeAll(keepingCapacity: true)
        here.append(new.root)
        // From the leaves, which are level 1.
        for level in stride(from: max(new.depth, oldDepth), through: 1, by: -1) {
            if let old, level == oldDepth { there.append(old.root) }
            if level <= new.depth {
                if level <= oldDepth { leaveOutShared() }
                ofTrees.append(contentsOf: here)
                guard self.count <= limit, WrittenPages.descend(&here, &spare, level, new, snapshot) else {
                    return false
                }
            }
            if let old, level <= oldDepth {
                if keepsDropped { dropped.append(contentsOf: there) }
                guard WrittenPages.descend(&there, &spare, level, old, snapshot) else { return false }
            }
        }
        return addLarge(snapshot, limit)
    }

    /// Adds the pages of large values.
    private mutating func addLarge(_ snapshot: Snapshot, _ limit: Int) -> Bool {
        leaveOutShared()
        let pageCount = snapshot.readablePages
        for first in here {
            guard first < pageCount else { return false }
            let count = UInt64(snapshot.pages.page(first).overflowPages)
            guard count > 0, count <= pageCount - first, self.count + Int(count) <= limit else { return false }
            ofValues.append(contentsOf: first..<(first + count))
        }
        guard keepsDropped else { return true }
        for first in there {
            guard first < pageCount else { return false }
            let count = UInt64(snapshot.pages.page(first).overflowPages)
            guard count <= pageCount - first else { return false }
            dropped.append(contentsOf: first..<(first + count))
        }
        return true
    }

    /// Replaces pages of a tree by those below them; below leaves those of large values.
    ///
    /// - Returns: false when one makes no sense.
    private static func descend(
        _ numbers: inout [UInt64], _ below: inout [UInt64], _ level: Int, _ table: TableRecord, _ snapshot: Snapshot
    ) -> Bool {
        below.removeAll(keepingCapacity: true)
        defer { swap(&numbers, &below) }
        if level == 1, table.overflowPages == 0 { return true }
        var expected = 0
        for number in numbers {
            guard number >= PageLayout.firstPage, number < snapshot.readablePages else { return false }
            let page = snapshot.pages.page(number)
            guard level > 1 else {
                for index in 0..<page.count {
                    guard let value = page.value(index) else { return false }
                    if value.isBig, let first = page.number(at: value.offset) { below.append(first) }
                }
                continue
            }
            let count = page.count
            below.append(addingCapacity: count) { below in
                for index in 0..<count {
                    guard let child = page.child(index) else { return }
                    below.append(child)
                }
            }
            // Fewer than there are entries: one lies outside of the page.
            expected += count
            guard below.count == expected else { return false }
        }
        return true
    }

    /// Takes out of both lists what they share, which mostly stands at the same places of their beginnings and ends.
    private mutating func leaveOutShared() {
        let shared = min(here.count, there.count)
        var start = 0
        while start < shared, here[start] == there[start] { start += 1 }
        var end = 0
        while end < shared - start, here[here.count - 1 - end] == there[there.count - 1 - end] { end += 1 }
        WrittenPages.cut(&here, start, end)
        WrittenPages.cut(&there, start, end)
        if here.count == there.count {
            // A page that was changed stands where it stood.
            var count = 0
            for index in here.indices where here[index] != there[index] {
                (here[count], there[count]) = (here[index], there[index])
                count += 1
            }
            WrittenPages.cut(&here, 0, here.count - count)
            WrittenPages.cut(&there, 0, there.count - count)
        } else if !here.isEmpty, !there.isEmpty {
            leaveOutEqual()
        }
    }

    /// Takes out of both lists what they share, wherever it stands, and orders them by number.
    private mutating func leaveOutEqual() {
        here.sort()
        there.sort()
        var (inHere, inThere, ofHere, ofThere) = (0, 0, 0, 0)
        while inHere < here.count, inThere < there.count {
            let (first, second) = (here[inHere], there[inThere])
            if first < second {
                here[ofHere] = first
                ofHere += 1
            } else if first > second {
                there[ofThere] = second
                ofThere += 1
            }
            if first <= second { inHere += 1 }
            if first >= second { inThere += 1 }
        }
        here.removeSubrange(ofHere..<inHere)
        there.removeSubrange(ofThere..<inThere)
    }

    private static func cut(_ list: inout [UInt64], _ first: Int, _ last: Int) {
        list.removeLast(last)
        list.removeFirst(first)
    }
}
