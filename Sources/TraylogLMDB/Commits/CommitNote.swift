import CTraylogCRC

/// The note that every commit leaves when each page is known to be in one place: while it fits, the next process needs no
/// account, however the last one ended.
///
/// It is a CRC-32C of all that says which pages are free and which tables there are: LMDB's fields of the header, the list of
/// free pages, and the table of tables. LMDB writes over a page only because the list says so. A damaged page elsewhere is
/// found when it is read: its keys are not those that the branches above promise, it is another table's, or it is free.
///
/// | offset in the commit's page of the header | what |
/// |---|---|
/// | 176 | the CRC-32C, u32, and four zeros |
/// | 184 | the commit, u64; another one than the page's means that there is no note |
///
/// LMDB changes no page in place. So of a long list a commit sums what it wrote and takes away what it dropped, and a page that
/// was damaged meanwhile is not summed anew.
struct CommitNote {
    enum State {
        /// The commit left none: it was of a process that knew less, or a power cut took the note.
        case absent
        /// All that the checksum covers is as it was.
        case intact
        /// Something has changed since.
        case changed
    }

    private var written = WrittenPages()
    /// The commit whose list of free pages is summed; nil when it has to be summed from the beginning.
    private var commit: UInt64?
    /// Of the pages of that list.
    private var checksums: [UInt64: UInt32] = [:]
    private var sum: UInt32 = 0

    /// A list of so few pages is summed from the beginning every time.
    private static let shortList: UInt64 = 3

    /// Compares a commit with its note.
    ///
    /// - Complexity: O(pages of the list of free pages).
    mutating func state(of snapshot: Snapshot) -> State {
        guard let note = snapshot.pages.note(of: snapshot.transaction) else { return .absent }
        guard let checksum = checksum(of: snapshot), note == checksum else { return .changed }
        return .intact
    }

    /// The checksum that a commit leaves; nil where a page makes no sense.
    ///
    /// - Parameter before: the commit before, whose pages are all there.
    /// - Complexity: O(pages of the list that `before` lacks) if that was the last one asked for; else O(pages of the list).
    mutating func checksum(of snapshot: Snapshot, since before: Snapshot? = nil) -> UInt32? {
        guard sumFreeList(of: snapshot, since: before), let tables = snapshot.tables,
            written.find(tables, since: nil, in: snapshot)
        else { return nil }
        let header = snapshot.pages.page(snapshot.transaction & 1)
        var checksum = unsafe traylog_crc32c(0, header.base + MetaPage.contents.lowerBound, MetaPage.contents.count)
        unsafe withUnsafeBytes(of: sum.littleEndian) { sum in
            checksum = unsafe traylog_crc32c(checksum, sum.baseAddress!, sum.count)
        }
        for number in written.ofTrees {
            guard let page = snapshot.pageInFile(number) else { return nil }
            checksum = page.checksum(after: checksum)
        }
        return checksum
    }

    private mutating func sumFreeList(of snapshot: Snapshot, since before: Snapshot?) -> Bool {
        guard let list = snapshot.freeList else { return false }
        let isShort = list.pages <= Self.shortList
        var former: TableRecord?
        if !isShort, let before, before.transaction == commit { former = before.freeList }
        commit = nil
        if former == nil {
            if !checksums.isEmpty { checksums.removeAll() }
            sum = 0
        }
        guard written.find(list, since: former, in: snapshot) else { return false }
        // Pages of both lists that were not noticed as such.
        var shared: Set<UInt64> = []
        for (numbers, isTree) in [(written.ofTrees, true), (written.ofValues, false)] {
            for number in numbers {
                guard let page = snapshot.pageInFile(number) else { return false }
                if former != nil, checksums[number] != nil {
                    shared.insert(number)
                    continue
                }
                let checksum = isTree ? page.checksum(after: 0) : page.checksumOfAll
                sum &+= checksum
                if !isShort { checksums[number] = checksum }
            }
        }
        for number in written.dropped where !shared.contains(number) {
            guard let checksum = checksums.removeValue(forKey: number) else { return false }
            sum &-= checksum
        }
        if !isShort { commit = snapshot.transaction }
        return true
    }

    /// Leaves the note for a commit that counts although a process died before it could, if the note of the one before fits:
    /// what the commit wrote was proven by its entry in the journal, or by its seal.
    static func pass(to commit: UInt64, in pages: PageMap) throws(LMDBError) {
        let (before, snapshot) = (Snapshot(pages), Snapshot(pages))
        var note = CommitNote()
        guard commit > 1, try before.load(commit - 1) != .gone, try snapshot.load(commit) != .gone,
            note.state(of: before) == .intact, let checksum = note.checksum(of: snapshot, since: before)
        else { return }
        try pages.markWritten(commit, leaving: checksum)
    }
}

extension Snapshot {
    /// A page whatever it holds; nil when it is not in the file.
    fileprivate func pageInFile(_ number: UInt64) -> Page? {
        number >= PageLayout.firstPage && number < readablePages ? pages.page(number) : nil
    }
}

extension Page {
    /// The CRC-32C of what a branch or leaf has, after that of other bytes.
    fileprivate func checksum(after checksum: UInt32) -> UInt32 {
        let head = unsafe traylog_crc32c(checksum, base, usedHead)
        return unsafe traylog_crc32c(head, base + (size - usedTail), usedTail)
    }

    fileprivate var checksumOfAll: UInt32 { unsafe traylog_crc32c(0, base, size) }
}
