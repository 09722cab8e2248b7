import TraylogPlatform

/// Places of values in the map.
@usableFromInline typealias FoundValues = InlineArray<32, UnsafeRawBufferPointer?>

extension Snapshot {
    /// Finds the values of up to 32 numbers in a table whose keys are big-endian numbers.
    ///
    /// Looked for one after the other, each would be waited for by itself: its leaf, its entry, its bytes. So all leaves
    /// are asked for before any is looked at, and all bytes before any are read.
    @usableFromInline
    @unsafe func values(
        of numbers: Span<UInt64>, in database: Database, _ values: inout FoundValues
    ) throws(LMDBError) {
        let table = try record(database)
        guard !table.isEmpty else { return }
        var leaves = InlineArray<32, NumberedChild>(repeating: NumberedChild())
        for index in numbers.indices {
            let number = numbers[index]
            leaves[index] =
                if index > 0, leaves[index - 1].holds(number) { leaves[index - 1] } else {
                    try child(number, in: table)
                }
        }
        for index in numbers.indices {
            let leaf = try page(leaves[index].page, isLeaf: true, table.name)
            leaf.expectEntry(0)
            // Where no number is missing, as in the log.
            leaf.expectEntry(Int(truncatingIfNeeded: min(numbers[index] &- leaves[index].first, 1 << 16)))
        }
        for index in numbers.indices {
            let leaf = try page(leaves[index].page, isLeaf: true, table.name)
            unsafe values[index] = try value(numbers[index], in: leaf, table)
        }
    }

    /// The leaf that holds a number if any does; its first line is asked for.
    private func child(_ number: UInt64, in table: TableRecord) throws(LMDBError) -> NumberedChild {
        var found = NumberedChild(page: table.root)
        try unsafe withUnsafeBytes(of: number.bigEndian) { (bytes) throws(LMDBError) in
            let key = unsafe KeyBytes(bytes)
            for _ in 1..<table.depth {
                let branch = try page(found.page, isLeaf: false, table.name)
                guard let index = branch.childIndex(for: key), let child = branch.child(index) else {
                    throw error(.entries, branch, table)
                }
                found.page = child
                if index > 0, let first = branch.key(index)?.bigEndian { found.first = first }
                if index + 1 < branch.count, let end = branch.key(index + 1)?.bigEndian { found.end = end }
            }
        }
        expectPage(found.page)
        return found
    }

    @unsafe private func value(
        _ number: UInt64, in leaf: Page, _ table: TableRecord
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        unsafe try withUnsafeBytes(of: number.bigEndian) { (bytes) throws(LMDBError) in
            let key = unsafe KeyBytes(bytes)
            guard let found = leaf.search(key) else { throw error(.entries, leaf, table) }
            if found.isExact { return unsafe try value(found.index, of: leaf, table.name) }
            // Only a key that is not there needs the promises of the branches above.
            guard let place = try find(key, in: table) else { return nil }
            return unsafe try value(at: place, table.name)
        }
    }
}

/// A leaf, and the numbers that the branches above say are in it.
private struct NumberedChild {
    var page: UInt64 = 0
    var first: UInt64 = 0
    /// The first one after it.
    var end = UInt64.max

    func holds(_ number: UInt64) -> Bool { number >= first && number < end }
}

extension Page {
    /// Asks for the first lines of an entry, which need not be there.
    fileprivate func expectEntry(_ index: Int) {
        guard index < count, let node = node(index) else { return }
        for line in 0..<4 { unsafe Memory.prefetch(base + (node + line * 64)) }
    }
}
