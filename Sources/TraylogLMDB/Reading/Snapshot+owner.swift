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
}
