import CTraylogCRC
import TraylogPlatform

/// Makes small commits safe against power loss with one sync, of a file beside the data file.
///
/// LMDB writes the pages of a commit to many places of the data file, without syncing it. The journal gets a copy of
/// them in one place, and its sync is the one that the caller waits for. After a power cut ``JournalReplay`` writes what
/// the journal has into the data file. From time to time, and with each commit that is too large, the data file is
/// synced, and the journal begins anew.
///
/// The one thread that writes the file uses it.
final class Journal {
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
    init(_ pages: PageMap, path: String, capacityBytes: Int) {
        self.pages = pages
        self.path = path
        self.capacityBytes = min(capacityBytes, JournalLayout.capacityBytes)
        new = Snapshot(pages)
        old = Snapshot(pages)
    }

    /// The proof, after a power cut, that a commit is whole.
    enum Proof {
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
    func prove(_ commit: UInt64) throws(LMDBError) -> Proof {
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
        try pages.setJournal(new)
        (number, last) = (new, nil)
    }

    /// The data file is on disk through a commit: what the journal has is not needed any more.
    func begin(after commit: UInt64) {
        last = commit
        end = 0
    }

    /// Forgets everything after a failure: another commit may get the number of the last one.
    func forget() {
        old.forget()
        (number, last) = (nil, nil)
    }

    /// Empties the file at the end.
    ///
    /// - Parameter isNeedless: whether the data file is on disk through the last commit.
    func close(isNeedless: Bool) {
        guard let file else { return }
        if isNeedless { try? file.setSize(0) }
        file.close()
        self.file = nil
        forget()
    }

    /// Whether the data file lacks something, on disk, that the journal has.
    var isNeeded: Bool { end > 0 }

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

/// The bytes of a journal: the pages that small commits wrote, commit after commit, each with a checksum.
///
/// The first block is the header; then come the entries, in whole blocks. Integers are in host byte order, like LMDB's.
///
/// | header offset | what |
/// |---|---|
/// | 0 | CRC-32C, u32, of the rest through 175 |
/// | 4 | magic, u32 |
/// | 8 | the journal's number: 16 random bytes, which the data file has at ``MetaPage/journal`` |
/// | 24 | the commit that the first entry follows, u64: with all before it, it is in the data file, on disk |
/// | 32 | the page size of the data file, u32 |
/// | 40 | LMDB's fields of that commit: bytes 16 to 151 of its page of the header |
///
/// | entry offset | what |
/// |---|---|
/// | 0 | CRC-32C, u32, of the rest of the entry |
/// | 4 | the bytes of the entry, u32, without what fills its last block |
/// | 8 | the journal's number |
/// | 24 | the commit, u64: the one after the previous entry's |
/// | 32 | the number of pages, u32 |
/// | 40 | LMDB's fields of the commit |
/// | 176 | for each page: its number, u64; how many bytes of its beginning are here, u32, and of its end, u32 |
/// | … | those bytes |
enum JournalLayout {
    static let magic: UInt32 = 0x4A4C_5254
    static let blockBytes = 4_096
    static let headBytes = 176
    static let pageBytes = 16
    static let numberOffset = 8
    static let commitOffset = 24
    static let countOffset = 32
    static let fieldsOffset = 40

    /// The largest size of the file.
    static let capacityBytes = 2 << 20
    /// A commit of more pages has a ``Seal`` instead: writing its pages twice would cost more than the places of the data
    /// file do.
    static let maximumPages = 32

    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = bytes.baseAddress, bytes.count > 4 else { return 0 }
        return unsafe traylog_crc32c(0, base + 4, bytes.count - 4)
    }

    static func wholeBlocks(_ byteCount: Int) -> Int { (byteCount + blockBytes - 1) / blockBytes * blockBytes }
}

/// The number of a journal, by which it and its data file know each other.
struct JournalNumber: Hashable {
    var bytes: [UInt8]

    static let byteCount = 16

    /// Nil for zeros: a data file without journal.
    init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard self.bytes.count == Self.byteCount, self.bytes.contains(where: { $0 != 0 }) else { return nil }
    }
}

/// The proof that a commit without an entry in the journal is whole: the pages that it wrote, and one checksum over them.
///
/// It lies in the commit's page of the header, behind LMDB's fields, until the commit after the next one replaces it, so
/// that one sync of the data file is enough.
///
/// | offset | what |
/// |---|---|
/// | 512 | CRC-32C, u32, of the rest of the seal ‖ LMDB's fields ‖ the pages, in the order of the list |
/// | 516 | the number of pages, u32 |
/// | 520 | the commit, u64 |
/// | 528 | the pages, u32 each |
enum Seal {
    static let offset = 512
    static let headerBytes = 16

    /// With more pages, a second sync is a small part of what the commit costs.
    static let maximumPages = 256

    /// - Parameters:
    ///   - numbers: at most ``maximumPages``.
    ///   - seal: becomes the seal.
    /// - Returns: false when a number is too large, or the pages are too small.
    static func make(_ commit: UInt64, _ numbers: [UInt64], in pages: PageMap, _ seal: inout [UInt8]) -> Bool {
        guard pages.pageSize >= offset + headerBytes + 4 * maximumPages, let last = numbers.max(),
            last <= UInt64(UInt32.max)
        else { return false }
        seal.removeAll(keepingCapacity: true)
        append(UInt32(0), to: &seal)
        append(UInt32(numbers.count), to: &seal)
        append(commit, to: &seal)
        for number in numbers { append(UInt32(number), to: &seal) }
        let checksum = unsafe seal.withUnsafeBytes { unsafe self.checksum($0, commit, numbers, in: pages) }
        unsafe seal.withUnsafeMutableBytes { unsafe $0.storeBytes(of: checksum, as: UInt32.self) }
        return true
    }

    /// The pages of the seal behind a commit's fields, if it is that commit's and everything is as it says; else nil.
    ///
    /// - Complexity: O(pages of the list).
    static func pages(of commit: UInt64, in pages: PageMap) -> [UInt64]? {
        guard pages.pageSize >= offset + headerBytes + 4 * maximumPages, pages.readablePages(2) == 2 else { return nil }
        let page = pages.page(commit & 1)
        let bytes = unsafe UnsafeRawBufferPointer(start: page.base + offset, count: headerBytes + 4 * maximumPages)
        let count = Int(unsafe bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        guard count <= maximumPages, page.number(at: offset + 8) == commit else { return nil }
        let seal = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(headerBytes + 4 * count)])
        let numbers = (0..<count).map { index in
            UInt64(unsafe seal.loadUnaligned(fromByteOffset: headerBytes + 4 * index, as: UInt32.self))
        }
        guard let last = numbers.max(), numbers.allSatisfy({ $0 >= PageLayout.firstPage }),
            last < pages.readablePages(last + 1),
            unsafe checksum(seal, commit, numbers, in: pages) == seal.loadUnaligned(as: UInt32.self)
        else { return nil }
        return numbers
    }

    /// - Parameter seal: all of it; the place of the checksum is left out.
    private static func checksum(
        _ seal: UnsafeRawBufferPointer, _ commit: UInt64, _ numbers: [UInt64], in pages: PageMap
    ) -> UInt32 {
        var crc = unsafe traylog_crc32c(0, seal.baseAddress! + 4, seal.count - 4)
        unsafe crc = traylog_crc32c(
            crc, pages.page(commit & 1).base + MetaPage.fields.lowerBound, MetaPage.fields.count)
        for number in numbers { unsafe crc = traylog_crc32c(crc, pages.page(number).base, pages.pageSize) }
        return crc
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: number) { unsafe bytes.append(contentsOf: $0) }
    }
}
