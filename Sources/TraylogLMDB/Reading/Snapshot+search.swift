extension Snapshot {
    /// The value of a key, in the map; nil when there is none.
    @usableFromInline
    @unsafe func value(
        of key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        let table = try record(database)
        guard !table.isEmpty else { return nil }
        let key = unsafe KeyBytes(key)
        let number = key.bigEndian
        let recent = number.flatMap { recentLeaf($0, database) }
        let leaf = if let recent { recent } else { try self.leaf(for: key, in: table) }
        guard let found = leaf.search(key) else { throw error(.entries, leaf, table) }
        if found.isExact {
            if number != nil, recent == nil { keep(leaf, database) }
            return unsafe try value(found.index, of: leaf, table.name)
        }
        // Only a key that is not there needs the promises of the branches above.
        guard let place = try find(key, in: table) else { return nil }
        return unsafe try value(at: place, table.name)
    }

    /// The leaf that holds a key if any does.
    @inline(__always)
    private func leaf(for key: KeyBytes, in table: TableRecord) throws(LMDBError) -> Page {
        var number = table.root
        for _ in 1..<table.depth {
            let branch = try page(number, isLeaf: false, table.name)
            guard let index = branch.childIndex(for: key), let child = branch.child(index) else {
                throw error(.entries, branch, table)
            }
            number = child
        }
        return try page(number, isLeaf: true, table.name)
    }

    /// The place of a key; nil when there is none.
    func find(_ key: KeyBytes, in table: TableRecord) throws(LMDBError) -> Place? {
        guard !table.isEmpty else { return nil }
        var place = try descend(table) { $0.childIndex(for: key) }
        guard let found = place.leaf.search(key) else { throw error(.entries, place.leaf, table) }
        place.index = found.index
        if found.isExact { return place }
        try confirmAbsence(place, table)
        return nil
    }

    /// The first entry that is not less than `key`; nil when there is none.
    func seek(_ key: KeyBytes, in table: TableRecord) throws(LMDBError) -> Place? {
        guard !table.isEmpty else { return nil }
        var place = try descend(table) { $0.childIndex(for: key) }
        guard let found = place.leaf.search(key) else { throw error(.entries, place.leaf, table) }
        place.index = found.index
        if place.index < place.count {
            if !found.isExact { try confirmAbsence(place, table) }
            return place
        }
        try checkRange(place, table)
        return try nextLeaf(place, table)
    }

    func first(in table: TableRecord) throws(LMDBError) -> Place? {
        guard !table.isEmpty else { return nil }
        let place = try descend(table) { _ in 0 }
        try checkRange(place, table)
        return place
    }

    func last(in table: TableRecord) throws(LMDBError) -> Place? {
        guard !table.isEmpty else { return nil }
        var place = try descend(table) { $0.count - 1 }
        try checkRange(place, table)
        place.index = place.count - 1
        return place
    }

    /// Goes from the root to a leaf; `choose` picks the entry of each branch, or nil on damage.
    @inline(__always)
    func descend(_ table: TableRecord, _ choose: (Page) -> Int?) throws(LMDBError) -> Place {
        var number = table.root
        var parent: Page?
        var parentIndex = 0
        var (lower, upper) = (KeyBytes.none, KeyBytes.none)
        var (parentLower, parentUpper) = (KeyBytes.none, KeyBytes.none)
        for _ in 1..<table.depth {
            let branch = try page(number, isLeaf: false, table.name)
            guard let index = choose(branch) else { throw error(.entries, branch, table) }
            (parentLower, parentUpper) = (lower, upper)
            number = try child(of: branch, at: index, table, lower: &lower, upper: &upper)
            parent = branch
            parentIndex = index
        }
        let leaf = try page(number, isLeaf: true, table.name)
        return Place(
            leaf: leaf, index: 0, count: leaf.count, parent: parent, parentIndex: parentIndex, lower: lower,
            upper: upper, parentLower: parentLower, parentUpper: parentUpper)
    }

    /// The page below an entry of a branch.
    ///
    /// The keys that are promised for the branch become those that are promised for that page.
    ///
    /// - Throws: ``LMDBError`` also when the branch promises other keys than those above do: it belongs elsewhere.
    @inline(__always)
    func child(
        of branch: Page, at index: Int, _ table: TableRecord, lower: inout KeyBytes, upper: inout KeyBytes
    ) throws(LMDBError) -> UInt64 {
        guard let child = branch.child(index) else { throw error(.entries, branch, table) }
        // The keys of the list of free pages are sorted in another way.
        let isCompared = table.name != .freePages
        if index > 0 {
            guard let key = branch.key(index) else { throw error(.entries, branch, table) }
            if isCompared, !lower.isNone, key.compare(lower) < 0 { throw error(.range, branch, table) }
            lower = key
        }
        if index + 1 < branch.count {
            guard let key = branch.key(index + 1) else { throw error(.entries, branch, table) }
            if isCompared, !upper.isNone, key.compare(upper) >= 0 { throw error(.range, branch, table) }
            upper = key
        }
        if lower.isNone || upper.isNone { try confirmOwner(of: child, table) }
        return child
    }

    /// The first entry of the leaf after the one of `place`; nil after the last leaf.
    func nextLeaf(_ place: Place, _ table: TableRecord) throws(LMDBError) -> Place? {
        guard !place.upper.isNone else { return nil }
        guard let parent = place.parent, place.parentIndex + 1 < parent.count else {
            let next = try descend(table) { $0.childIndex(for: place.upper) }
            try checkRange(next, table)
            return next
        }
        let index = place.parentIndex + 1
        guard let child = parent.child(index) else { throw error(.entries, parent, table) }
        var next = place
        next.parentIndex = index
        next.lower = place.upper
        next.upper = place.parentUpper
        if index + 1 < parent.count {
            guard let key = parent.key(index + 1) else { throw error(.entries, parent, table) }
            next.upper = key
        }
        if next.upper.isNone { try confirmOwner(of: child, table) }
        next.leaf = try page(child, isLeaf: true, table.name)
        next.count = next.leaf.count
        next.index = 0
        try checkRange(next, table)
        return next
    }

    /// The last entry of the leaf before the one of `place`; nil before the first leaf.
    func previousLeaf(_ place: Place, _ table: TableRecord) throws(LMDBError) -> Place? {
        guard !place.lower.isNone else { return nil }
        var next = place
        if let parent = place.parent, place.parentIndex > 0 {
            let index = place.parentIndex - 1
            guard let child = parent.child(index) else { throw error(.entries, parent, table) }
            next.parentIndex = index
            next.upper = place.lower
            next.lower = place.parentLower
            if index > 0 {
                guard let key = parent.key(index) else { throw error(.entries, parent, table) }
                next.lower = key
            }
            if next.lower.isNone { try confirmOwner(of: child, table) }
            next.leaf = try page(child, isLeaf: true, table.name)
            next.count = next.leaf.count
        } else {
            next = try descend(table) { $0.childIndex(before: place.lower) }
        }
        next.index = next.count - 1
        try checkRange(next, table)
        return next
    }

    /// Makes sure that a key is not stored because it is not, and not because a page or a promise about one changed.
    ///
    /// - Parameter place: where the key would stand.
    private func confirmAbsence(_ place: Place, _ table: TableRecord) throws(LMDBError) {
        try checkRange(place, table)
        if place.index == 0 { _ = try previousLeaf(place, table) }
        if place.index == place.count { _ = try nextLeaf(place, table) }
    }

    /// Makes sure that the keys of a leaf are those that the branches above promise.
    func checkRange(_ place: Place, _ table: TableRecord) throws(LMDBError) {
        guard let first = place.leaf.key(0), let last = place.leaf.key(place.count - 1) else {
            throw error(.entries, place.leaf, table)
        }
        if !place.lower.isNone, first.compare(place.lower) < 0 { throw error(.range, place.leaf, table) }
        if !place.upper.isNone, last.compare(place.upper) >= 0 { throw error(.range, place.leaf, table) }
    }

    /// The value of an entry, in the map.
    @inline(__always)
    @unsafe func value(at place: Place, _ table: TableName) throws(LMDBError) -> UnsafeRawBufferPointer {
        unsafe try value(place.index, of: place.leaf, table)
    }

    @inline(__always)
    @unsafe func value(
        _ index: Int, of leaf: Page, _ table: TableName
    ) throws(LMDBError) -> UnsafeRawBufferPointer {
        guard let value = leaf.value(index), value.flags & ~PageLayout.bigValue == 0 else {
            throw pages.error(.entries, page: leaf.number, table)
        }
        if value.isBig {
            guard let number = leaf.number(at: value.offset) else {
                throw pages.error(.entries, page: leaf.number, table)
            }
            return unsafe try overflow(number, byteCount: value.byteCount, table)
        }
        return unsafe UnsafeRawBufferPointer(start: leaf.base + value.offset, count: value.byteCount)
    }

    func error(_ fault: PageFault, _ page: Page, _ table: TableRecord) -> LMDBError {
        pages.error(fault, page: page.number, table.name)
    }
}

/// The position of a walk through a table: an entry of a leaf, and the branch above.
struct Place {
    var leaf: Page
    var index = 0
    /// Entries of the leaf.
    var count = 0
    /// The branch right above the leaf, and the entry that leads to it; nil when the leaf is the root.
    var parent: Page?
    var parentIndex = 0
    /// The keys that the branches above promise for the leaf: not less than `lower`, less than `upper`.
    var lower = KeyBytes.none
    var upper = KeyBytes.none
    /// The same for the parent.
    var parentLower = KeyBytes.none
    var parentUpper = KeyBytes.none
}
