import CTraylogCRC

/// The note of a writer that closed the file, and knew that every page is in one place: the next one needs no account.
///
/// It lies in the header's page of the last commit. A later commit makes it meaningless, because it names another one.
///
/// | offset | what |
/// |---|---|
/// | 176 | CRC-32C, u32, and four zeros |
/// | 184 | the commit, u64 |
///
/// The checksum covers LMDB's fields of the commit, the pages of the table of tables, those of the list of free pages, and
/// of each table the pages on the way to its last entry, where appends go on. A damaged page elsewhere is found when it is
/// read: its keys are not those that the branches above promise, or it is listed as free.
package enum CleanClose {
    package enum State {
        /// The last writer did not close the file, or knew less.
        case absent
        /// All that the checksum covers is as it was.
        case intact
        /// Something has changed since.
        case changed
    }

    private static let offset = 176
    private static let commitOffset = 184

    /// What the note says of a commit.
    ///
    /// - Complexity: O(pages of the list of free pages).
    package static func state(of snapshot: Snapshot) -> State {
        let commit = snapshot.transaction
        let page = snapshot.pages.page(commit & 1)
        guard commit > 0, page.number(at: commitOffset) == commit else { return .absent }
        guard let checksum = try? checksum(of: snapshot), page.number(at: offset) == UInt64(checksum) else {
            return .changed
        }
        return .intact
    }

    /// Leaves the note for the newest commit; for the one process that may write the file, at the end.
    package static func note(in pages: PageMap) throws(LMDBError) {
        let snapshot = Snapshot(pages)
        let commit = pages.newestCommit
        guard commit > 0, commit != .max, case .whole = try snapshot.load(commit), state(of: snapshot) != .intact else {
            return
        }
        let note = [UInt64(try checksum(of: snapshot)), commit]
        try pages.write(RawSpan(_elements: note.span), at: commit & 1, offset)
    }

    private static func checksum(of snapshot: Snapshot) throws(LMDBError) -> UInt32 {
        let header = snapshot.pages.page(snapshot.transaction & 1)
        var walk = Walk(snapshot: snapshot)
        unsafe walk.crc = traylog_crc32c(0, header.base + MetaPage.fields.lowerBound, MetaPage.fields.count)
        if let freeList = snapshot.freeList { try walk.take(freeList, isWhole: true) }
        guard let tables = snapshot.tables else { return walk.crc }
        try walk.take(tables, isWhole: true)
        var place = try snapshot.first(in: tables)
        while let here = place {
            for index in 0..<here.count {
                guard let value = here.leaf.value(index), let key = here.leaf.key(index),
                    let table = TableRecord(
                        here.leaf, at: value.offset, name: snapshot.pages.tableName(key), flags: 0,
                        pageCount: snapshot.pageCount)
                else { throw snapshot.error(.record, here.leaf, tables) }
                try walk.take(table, isWhole: false)
            }
            place = try snapshot.nextLeaf(here, tables)
        }
        return walk.crc
    }

    private struct Walk {
        let snapshot: Snapshot
        var crc: UInt32 = 0
        /// How many more pages the table's record allows.
        private var left: UInt64 = 0

        init(snapshot: Snapshot) { self.snapshot = snapshot }

        /// - Parameter isWhole: whether all pages are taken, or the way to the last entry.
        mutating func take(_ table: TableRecord, isWhole: Bool) throws(LMDBError) {
            guard !table.isEmpty else { return }
            left = table.branchPages + table.leafPages
            try take(table.root, level: 1, table, isWhole: isWhole)
        }

        private mutating func take(
            _ number: UInt64, level: Int, _ table: TableRecord, isWhole: Bool
        ) throws(LMDBError) {
            let page = try snapshot.page(number, isLeaf: level == table.depth, table.name)
            guard left > 0 else { throw snapshot.error(.count, page, table) }
            left -= 1
            unsafe crc = traylog_crc32c(crc, page.base, page.size)
            for index in (isWhole ? 0 : page.count - 1)..<page.count {
                if level < table.depth {
                    guard let child = page.child(index) else { throw snapshot.error(.entries, page, table) }
                    try take(child, level: level + 1, table, isWhole: isWhole)
                } else if isWhole {
                    try takeValue(index, of: page, table)
                }
            }
        }

        /// The pages of a large value.
        private mutating func takeValue(_ index: Int, of leaf: Page, _ table: TableRecord) throws(LMDBError) {
            guard let value = leaf.value(index), value.isBig, let number = leaf.number(at: value.offset) else { return }
            _ = try snapshot.overflowPages(number, byteCount: value.byteCount, table.name)
            let count = PageLayout.overflowPages(value.byteCount, pageSize: snapshot.pageSize)
            unsafe crc = traylog_crc32c(crc, snapshot.pages.page(number).base, count * snapshot.pageSize)
        }
    }
}
