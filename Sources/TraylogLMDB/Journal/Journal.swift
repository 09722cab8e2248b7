import TraylogPlatform

/// Makes small commits safe against power loss with one sync, of a file beside the data file.
///
/// LMDB writes the pages of a commit to many places of the data file, without syncing it. The journal gets a copy of
/// them in one place, and its sync is the one that the caller waits for. After a power cut ``JournalReplay`` writes what
/// the journal has into the data file. From time to time, and with each commit that is too large, the data file is
/// synced, and the journal begins anew.
///
/// The one thread that writes the file uses it.
package final class Journal {
    private let pages: PageMap
    private let path: String
    private let capacityBytes: Int
    private var new: Snapshot
    private var old: Snapshot
    private var written = WrittenPages()
    private var bytes: [UInt8] = []
    private var file: FileDescriptor?

    /// Stands in the data file, too; nil when the next commit has to write it there.
    private var number: JournalNumber?
    /// The commit that the next entry follows; nil when the data file is not known to be on disk through any.
    private var last: UInt64?
    /// Where the next entry begins; 0 before there is a header.
    private var end = 0
    /// Blocks that were written before, so that no sync waits for the file's length.
    private var filled = 0

    /// - Parameters:
    ///   - pages: of a data file that is open for writing.
    ///   - path: the journal, which need not be there.
    ///   - capacityBytes: a commit for which there is no room any more is the last before the journal begins anew.
    package init(_ pages: PageMap, path: String, capacityBytes: Int) {
        self.pages = pages
        self.path = path
        self.capacityBytes = min(capacityBytes, JournalLayout.capacityBytes)
        new = Snapshot(pages)
        old = Snapshot(pages)
    }

    /// The proof, after a power cut, that a commit is whole.
    package enum Proof {
        /// Its entry in the journal, which is on disk.
        case entry
        /// The ``Seal`` in its page of the header, which one sync of the data file makes safe together with the commit.
        case seal
        /// Nothing but two syncs of the data file.
        case none
    }

    /// Writes the proof for a commit that LMDB has just made, without syncing it.
    ///
    /// Where it is no entry, the caller syncs the data file, and then the journal begins anew with ``begin(after:)``.
    ///
    /// - Throws: ``LMDBError`` when a sync of the journal or a write to the data file fails.
    package func prove(_ commit: UInt64) throws(LMDBError) -> Proof {
        if number == nil { try giveNumber() }
        guard case .whole = try new.load(commit), try shows(commit - 1),
            try written.find(of: new, since: old, limit: Seal.maximumPages)
        else { return .none }
        let proof: Proof = try writeEntry(commit) ? .entry : try writeSeal(commit) ? .seal : .none
        swap(&new, &old)
        return proof
    }

    /// - Returns: false for a commit that gets none: the first one, one of many pages, one that there is no room for, and
    ///   any when the file cannot be written.
    private func writeEntry(_ commit: UInt64) throws(LMDBError) -> Bool {
        guard let last, let number, last + 1 == commit, written.count <= JournalLayout.maximumPages else {
            return false
        }
        bytes.removeAll(keepingCapacity: true)
        if end == 0 { appendHeader(number, after: last) }
        appendEntry(number, commit)
        guard end + bytes.count <= capacityBytes, let file = try? openFile(),
            (try? file.write(RawSpan(_elements: bytes.span), at: Int64(end))) != nil
        else { return false }
        end += bytes.count
        fill(file)
        try LMDBError.attempt("sync", path, file: file, file.syncData())
        self.last = commit
        return true
    }

    /// - Returns: false for a commit that gets none.
    private func writeSeal(_ commit: UInt64) throws(LMDBError) -> Bool {
        guard Seal.make(commit, written.ofTrees + written.ofValues, in: pages, &bytes) else { return false }
        let seal = bytes
        try pages.write(RawSpan(_elements: seal.span), at: commit & 1, Seal.offset)
        return true
    }

    /// Gives the data file the number of a new journal, before a sync of it.
    ///
    /// All commits before the newest one are in the data file, on disk.
    private func giveNumber() throws(LMDBError) {
        guard let new = JournalNumber(SystemRandom.bytes(count: JournalNumber.byteCount)) else { return }
        try pages.noteJournal(new)
        (number, last) = (new, nil)
    }

    /// The data file is on disk through a commit: what the journal has is not needed any more.
    package func begin(after commit: UInt64) {
        last = commit
        end = 0
    }

    /// Forgets everything after a failure: another commit may get the number of the last one.
    package func forget() {
        old.forget()
        (number, last) = (nil, nil)
    }

    /// Empties the file at the end.
    ///
    /// - Parameter isNeedless: whether the data file is on disk through the last commit.
    package func close(isNeedless: Bool) {
        guard let file else { return }
        if isNeedless { try? file.setSize(0) }
        file.close()
        self.file = nil
        forget()
    }

    /// Whether the data file lacks something, on disk, that the journal has.
    package var isNeeded: Bool { end > 0 }

    /// Whether the commit before can be told, from the last entry or from its page of the header.
    private func shows(_ commit: UInt64) throws(LMDBError) -> Bool {
        if old.shows(commit) { return true }
        if case .gone = try old.load(commit) { return false }
        return true
    }

    // MARK: The file

    /// A new file gets rights and owner of the data file, and its name is synced before anything rests on it.
    private func openFile() throws(LMDBError) -> FileDescriptor {
        if let file { return file }
        let isNew = !Files.exists(path)
        let owner = try? FileStatus(path: pages.path)
        let file = try LMDBError.attempt("open", path, FileDescriptor(openingOrCreating: path, owner: owner))
        do throws(LMDBError) {
            if isNew {
                Files.adopt(path, like: owner)
                try LMDBError.attempt("sync", path, Files.sync(Files.parent(of: path)))
            }
        } catch {
            file.close()
            throw error
        }
        self.file = file
        filled = 0
        return file
    }

    private static let zeros = [UInt8](repeating: 0, count: 1 << 20)
    private static let smallestFill = 64 << 10

    /// Writes zeros behind the last entry, as much as there is already.
    ///
    /// A failure costs nothing: the next entry then makes the file longer, and tells if it cannot.
    private func fill(_ file: FileDescriptor) {
        guard filled < end + Self.smallestFill / 2, end < capacityBytes else { return }
        let count = min(max(end, Self.smallestFill), Self.zeros.count, capacityBytes - end)
        let zeros = RawSpan(_elements: Self.zeros.span).extracting(first: count)
        if (try? file.write(zeros, at: Int64(end))) != nil { filled = end + count }
    }

    // MARK: The bytes

    private func appendHeader(_ number: JournalNumber, after commit: UInt64) {
        append(UInt32(0))
        append(JournalLayout.magic)
        bytes.append(contentsOf: number.bytes)
        append(commit)
        append(UInt32(pages.pageSize))
        append(UInt32(0))
        appendFields(of: commit)
        seal(from: 0)
        bytes.append(contentsOf: repeatElement(0, count: JournalLayout.blockBytes - bytes.count))
    }

    private func appendEntry(_ number: JournalNumber, _ commit: UInt64) {
        let start = bytes.count
        append(UInt32(0))
        append(UInt32(0))
        bytes.append(contentsOf: number.bytes)
        append(commit)
        append(UInt32(written.count))
        append(UInt32(0))
        appendFields(of: commit)
        for number in written.ofTrees {
            let page = pages.page(number)
            appendPlace(number, head: page.usedHead, tail: page.usedTail)
        }
        for number in written.ofValues { appendPlace(number, head: pages.pageSize, tail: 0) }
        for number in written.ofTrees {
            let page = pages.page(number)
            append(page, 0..<page.usedHead)
            append(page, pages.pageSize - page.usedTail..<pages.pageSize)
        }
        for number in written.ofValues { append(pages.page(number), 0..<pages.pageSize) }
        let count = bytes.count - start
        unsafe bytes.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: UInt32(count), toByteOffset: start + 4, as: UInt32.self)
        }
        seal(from: start)
        bytes.append(contentsOf: repeatElement(0, count: JournalLayout.wholeBlocks(bytes.count) - bytes.count))
    }

    private func appendFields(of commit: UInt64) { append(pages.page(commit & 1), MetaPage.fields) }

    private func appendPlace(_ number: UInt64, head: Int, tail: Int) {
        append(number)
        append(UInt32(head))
        append(UInt32(tail))
    }

    private func append(_ page: Page, _ range: Range<Int>) {
        let part = unsafe UnsafeRawBufferPointer(start: page.base + range.lowerBound, count: range.count)
        unsafe bytes.append(contentsOf: part)
    }

    private func append(_ number: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
    }

    /// Puts the checksum before what comes after it.
    private func seal(from start: Int) {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
            unsafe bytes.storeBytes(of: JournalLayout.checksum(part), toByteOffset: start, as: UInt32.self)
        }
    }
}
