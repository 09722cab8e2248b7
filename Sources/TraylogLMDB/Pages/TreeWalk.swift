/// Goes down the trees of a commit; each conforming type looks at pages as closely as it needs to.
protocol TreeReader: AnyObject {
    var snapshot: Snapshot { get }

    /// A page, which must be a branch or a leaf of the table.
    func page(_ number: UInt64, isLeaf: Bool, _ table: TableName) throws(LMDBError) -> Page
}

extension TreeReader {
    /// Goes from the root to a leaf; `choose` picks the entry of each branch, or nil on damage.
    @inline(__always)
    func descend(_ table: TableRecord, _ choose: (Page) -> Int?) throws(LMDBError) -> Place {
        try descend(table, from: TreeStep(rootOf: table), choose)
    }

    /// The same from a page below the root.
    ///
    /// - Parameter comparesKeys: whether each branch is compared with what those above promise.
    @inline(__always)
    func descend(
        _ table: TableRecord, from start: TreeStep, comparesKeys: Bool = true, _ choose: (Page) -> Int?
    ) throws(LMDBError) -> Place {
        var step = start
        var parent: Page?
        var parentIndex = 0
        var parentBounds = KeyBounds()
        while step.level < table.depth {
            let branch = try page(step.number, isLeaf: false, table.name)
            guard let index = choose(branch) else { throw snapshot.error(.entries, branch, table) }
            (parent, parentIndex, parentBounds) = (branch, index, step.bounds)
            step = try self.step(from: step, branch, index, table, comparesKeys: comparesKeys)
        }
        let leaf = try page(step.number, isLeaf: true, table.name)
        return Place(
            leaf: leaf, count: leaf.count, bounds: step.bounds, parent: parent, parentIndex: parentIndex,
            parentBounds: parentBounds)
    }

    /// Goes from a branch to the page below one of its entries.
    ///
    /// - Throws: ``LMDBError`` also when the branch promises other keys than those above do: it belongs elsewhere.
    @inline(__always)
    func step(
        from step: TreeStep, _ branch: Page, _ index: Int, _ table: TableRecord, comparesKeys: Bool = true
    ) throws(LMDBError) -> TreeStep {
        guard let next = step.below(branch, index) else { throw snapshot.error(.entries, branch, table) }
        guard comparesKeys else { return next }
        // The keys of the list of free pages are sorted in another way.
        if table.name != .freePages {
            let (own, below) = (step.bounds, next.bounds)
            let isInside =
                (index == 0 || own.lower.isNone || below.lower.compare(own.lower) >= 0)
                && (index + 1 == branch.count || own.upper.isNone || below.upper.compare(own.upper) < 0)
            guard isInside else { throw snapshot.error(.range, branch, table) }
        }
        if next.bounds.areOpen { try snapshot.confirmOwner(of: next.number, table) }
        return next
    }
}

/// A page on the way down the tree of a table.
struct TreeStep {
    let number: UInt64
    /// The root has 1, leaves have the table's depth.
    let level: Int
    let bounds: KeyBounds

    init(rootOf table: TableRecord) {
        (number, level, bounds) = (table.root, 1, KeyBounds())
    }

    @inline(__always)
    private init(number: UInt64, level: Int, bounds: KeyBounds) {
        (self.number, self.level, self.bounds) = (number, level, bounds)
    }

    /// The page below an entry of this one, a branch; nil when the entry makes no sense.
    @inline(__always)
    func below(_ branch: Page, _ index: Int) -> TreeStep? {
        guard let child = branch.child(index), let bounds = bounds.below(branch, index) else { return nil }
        return TreeStep(number: child, level: level + 1, bounds: bounds)
    }
}

/// The keys that the branches above promise for a page: not less than `lower`, less than `upper`.
struct KeyBounds {
    var lower = KeyBytes.none
    var upper = KeyBytes.none

    /// Whether the page is at an end of its table.
    var areOpen: Bool { lower.isNone || upper.isNone }

    func contain(_ key: KeyBytes) -> Bool {
        (lower.isNone || lower.compare(key) <= 0) && (upper.isNone || key.compare(upper) < 0)
    }

    /// Those of the page below an entry of a branch; nil when the entry makes no sense.
    @inline(__always)
    func below(_ branch: Page, _ index: Int) -> KeyBounds? {
        var bounds = self
        if index > 0 {
            guard let key = branch.key(index) else { return nil }
            bounds.lower = key
        }
        if index + 1 < branch.count {
            guard let key = branch.key(index + 1) else { return nil }
            bounds.upper = key
        }
        return bounds
    }

    /// The fault of a page whose keys are not all between them.
    func fault(of page: Page, isLeaf: Bool, _ content: Page.Content) -> PageFault? {
        // The first key of a branch is not looked at by anybody.
        let first = isLeaf ? 0 : 1
        guard page.count > first else { return nil }
        guard let least = page.key(first), let greatest = page.key(page.count - 1) else { return .entries }
        if case .freePages = content {
            guard let least = least.number, let greatest = greatest.number else { return .entries }
            let isInside = (lower.number ?? 0) <= least && (upper.number.map { greatest < $0 } ?? true)
            return isInside ? nil : .range
        }
        if !lower.isNone, least.compare(lower) < 0 { return .range }
        if !upper.isNone, greatest.compare(upper) >= 0 { return .range }
        return nil
    }
}

/// The position of a walk through a table: an entry of a leaf, and the branch above.
struct Place {
    var leaf: Page
    var index = 0
    /// Entries of the leaf.
    let count: Int
    let bounds: KeyBounds
    /// The branch right above the leaf, and the entry that leads to it; nil when the leaf is the root.
    let parent: Page?
    let parentIndex: Int
    let parentBounds: KeyBounds
}

extension Snapshot: TreeReader {
    var snapshot: Snapshot { self }

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
        let leaf =
            if let recent { recent } else { try page(self.number(on: key, in: table), isLeaf: true, table.name) }
        guard let found = leaf.search(key) else { throw error(.entries, leaf, table) }
        if found.isExact {
            if number != nil, recent == nil { keep(leaf, database) }
            return unsafe try value(found.index, of: leaf, table.name)
        }
        // Only a key that is not there needs the promises of the branches above.
        guard let place = try find(key, in: table) else { return nil }
        return unsafe try value(at: place, table.name)
    }

    /// The leaf that holds a key if any does, or a branch above it, found without the promises of the branches.
    ///
    /// - Parameter sought: where the way ends if it comes by.
    @inline(__always)
    func number(
        on key: KeyBytes, in table: TableRecord, orAt sought: UInt64? = nil, isNumber: Bool = false
    ) throws(LMDBError) -> UInt64 {
        var number = table.root
        for _ in 1..<table.depth {
            if number == sought { break }
            let branch = try page(number, isLeaf: false, table.name)
            let index = isNumber ? key.number.flatMap(branch.childIndex(forNumber:)) : branch.childIndex(for: key)
            guard let index, let child = branch.child(index) else { throw error(.entries, branch, table) }
            number = child
        }
        return number
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

    /// The first entry of the leaf after the one of `place`; nil after the last leaf.
    func nextLeaf(_ place: Place, _ table: TableRecord) throws(LMDBError) -> Place? {
        guard !place.bounds.upper.isNone else { return nil }
        let next =
            if let parent = place.parent, place.parentIndex + 1 < parent.count {
                try sibling(of: place, parent, place.parentIndex + 1, table)
            } else {
                try descend(table) { $0.childIndex(for: place.bounds.upper) }
            }
        try checkRange(next, table)
        return next
    }

    /// The last entry of the leaf before the one of `place`; nil before the first leaf.
    func previousLeaf(_ place: Place, _ table: TableRecord) throws(LMDBError) -> Place? {
        guard !place.bounds.lower.isNone else { return nil }
        var next =
            if let parent = place.parent, place.parentIndex > 0 {
                try sibling(of: place, parent, place.parentIndex - 1, table)
            } else {
                try descend(table) { $0.childIndex(before: place.bounds.lower) }
            }
        next.index = next.count - 1
        try checkRange(next, table)
        return next
    }

    /// The leaf below another entry of the same branch.
    private func sibling(
        of place: Place, _ parent: Page, _ index: Int, _ table: TableRecord
    ) throws(LMDBError) -> Place {
        guard let child = parent.child(index), let bounds = place.parentBounds.below(parent, index) else {
            throw error(.entries, parent, table)
        }
        if bounds.areOpen { try confirmOwner(of: child, table) }
        let leaf = try page(child, isLeaf: true, table.name)
        return Place(
            leaf: leaf, count: leaf.count, bounds: bounds, parent: parent, parentIndex: index,
            parentBounds: place.parentBounds)
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
        if let fault = place.bounds.fault(of: place.leaf, isLeaf: true, .rows) { throw error(fault, place.leaf, table) }
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
