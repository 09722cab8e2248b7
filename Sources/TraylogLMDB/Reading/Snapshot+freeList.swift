import TraylogPlatform

extension Snapshot {
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
    package func freePages() -> FreePages {
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
    package func countFreePages() throws(LMDBError) -> Int {
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
    package func checkCommits() throws(LMDBError) {
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
