extension Page {
    /// The limits of a table's keys and values.
    enum Content {
        /// A table of the store.
        case rows
        /// The table of tables.
        case tables
        /// LMDB's list of free pages.
        case freePages
    }

    /// Looks at all of a branch or leaf: entries inside, side by side and without gaps, keys ascending, pages in range.
    ///
    /// - Parameter pageCount: of the file.
    /// - Complexity: O(entries); some 5 ns for each.
    func fault(isLeaf: Bool, _ content: Content, pageCount: UInt64) -> PageFault? {
        let (lower, upper) = (lower, upper)
        guard lower & 1 == 0, lower >= PageLayout.headerBytes + 2, lower <= upper, upper <= size else {
            return .entries
        }
        var bytes = 0
        var previous = KeyBytes.none
        for index in 0..<count {
            guard let node = node(index), node >= upper, let key = key(index) else { return .entries }
            var nodeBytes = PageLayout.nodeBytes + key.count
            if isLeaf {
                guard let value = value(index), isSound(key, value, content) else { return .entries }
                nodeBytes += value.isBig ? 8 : value.byteCount
            } else {
                guard let child = child(index), child >= PageLayout.firstPage, child < pageCount else { return .child }
                guard key.count <= PageLayout.maximumKeyBytes else { return .entries }
            }
            bytes += (nodeBytes + 1) & ~1
            // The first key of a branch is not looked at by anybody.
            if isLeaf || index > 0 {
                if !previous.isNone, !isAscending(previous, key, content) { return .order }
                previous = key
            }
        }
        return bytes == size - upper ? nil : .space
    }

    private func isAscending(_ first: KeyBytes, _ second: KeyBytes, _ content: Content) -> Bool {
        guard case .freePages = content else { return first.compare(second) < 0 }
        guard let first = first.number, let second = second.number else { return false }
        return first < second
    }

    private func isSound(_ key: KeyBytes, _ value: Value, _ content: Content) -> Bool {
        switch content {
        case .rows: (1...PageLayout.maximumKeyBytes).contains(key.count) && value.flags & ~PageLayout.bigValue == 0
        case .tables: key.count > 0 && value.flags == PageLayout.table && value.byteCount == TableRecord.byteCount
        case .freePages: key.count == 8 && value.flags & ~PageLayout.bigValue == 0
        }
    }
}

/// A fault of a page.
package enum PageFault: Hashable, Sendable {
    case outside, beyondEnd, misplaced, kind, entries, order, space, child, value, range, free, twice, depth, record
    case count, lost

    var words: String {
        switch self {
        case .outside: "is not a page of the file"
        case .beyondEnd: "lies beyond the end of the file"
        case .misplaced: "has another number"
        case .kind: "is of another kind"
        case .entries: "has entries outside of it"
        case .order: "has keys out of order"
        case .space: "has entries that do not fill it"
        case .child: "refers to a page outside of the file"
        case .value: "has a large value whose pages are not its own"
        case .range: "has keys that belong elsewhere"
        case .free: "is in use and listed as free"
        case .twice: "is in use twice"
        case .depth: "is at another depth than the table says"
        case .record: "has a table's record that makes no sense"
        case .count: "does not hold what its record counts"
        case .lost: "belongs to no table and is not free"
        }
    }
}
