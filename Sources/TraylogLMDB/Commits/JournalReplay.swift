import TraylogPlatform

/// Makes a data file whole that a process left without closing it, before LMDB opens it.
///
/// The pages in the journal are written into the data file, which may lack any of them after a power cut. A pending commit
/// that has neither an entry nor a seal that fits is taken back: nobody was answered from it.
struct JournalReplay {
    private let path: String
    private let journalPath: String
    private let file: FileDescriptor
    private let header: DataFileHeader
    private let contents: JournalContents?
    /// The pages in the seal of the newest commit, if that is pending and the seal fits.
    private let sealed: Set<UInt64>?
    /// Whether other processes have the file open, so that it is whole as they see it.
    private let isShared: Bool

    /// Runs before the file is mapped; the caller holds the open lock.
    ///
    /// While others have the file open, only a writer does this: to readers a pending commit may be under way.
    ///
    /// - Parameters:
    ///   - path: the data file.
    ///   - journalPath: the journal beside it, if there is one.
    ///   - readers: the lock file beside it.
    ///   - isWriter: whether the caller is the one who may write the store.
    /// - Returns: the newest commit, if it counts and that could not be noted, because nobody may write the file.
    /// - Throws: ``LMDBError`` when a writer cannot write the file, and when a reader would have to and cannot.
    static func run(
        _ path: String, journal journalPath: String, readers: ReaderTable, isWriter: Bool
    ) throws(LMDBError) -> UInt64? {
        // What else is wrong with a file is for others to find.
        guard let file = try? FileDescriptor(opening: path, .reading) else { return nil }
        defer { file.close() }
        try checkIsReadable(journalPath)
        let isShared = readers.isOpenElsewhere
        guard isWriter || !isShared, let header = DataFileHeader(leftIn: file) else { return nil }
        let replay = try JournalReplay(path, journalPath, file, header, isShared: isShared)
        guard replay.contents != nil || header.pending != nil else { return nil }
        do throws(LMDBError) {
            let writable = try LMDBError.attempt("open", path, FileDescriptor(opening: path, .readingAndWriting))
            defer { writable.close() }
            try replay.run(writable)
            return nil
        } catch {
            if isWriter { throw error }
            return try replay.confirm()
        }
    }

    /// A journal that cannot be read may have what the data file lacks.
    private static func checkIsReadable(_ path: String) throws(LMDBError) {
        guard let size = (try? FileStatus(path: path))?.size, size > 0 else { return }
        try LMDBError.attempt("open", path, FileDescriptor(opening: path, .reading)).close()
    }

    private init(
        _ path: String, _ journalPath: String, _ file: FileDescriptor, _ header: DataFileHeader, isShared: Bool
    ) throws(LMDBError) {
        self.path = path
        self.journalPath = journalPath
        self.file = file
        self.header = header
        self.isShared = isShared
        contents = Self.contents(journalPath, header)
        // All commits before a sealed one have to be there.
        if let pending = header.pending, pending == (contents?.newest ?? pending &- 1) &+ 1, let size = file.size {
            let pages = try PageMap(
                file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
            sealed = Seal.pages(of: pending, in: pages).map { Set($0) }
        } else {
            sealed = nil
        }
    }

    /// The journal, if it belongs to the file and is newer.
    private static func contents(_ path: String, _ header: DataFileHeader) -> JournalContents? {
        guard let number = header.journal, let contents = JournalContents(path: path, number: number),
            !contents.isEmpty, contents.pageSize == header.pageSize,
            // A commit that is not in the journal, and on disk, came after it: so did all that is in the journal.
            header.newest >= contents.base, header.newestOnDisk <= contents.newest
        else { return nil }
        return contents
    }

    private func run(_ file: FileDescriptor) throws(LMDBError) {
        if let contents {
            // A page that a sealed commit wrote over is none of the commits before any more.
            for page in contents.pages where !isSealed(page) {
                try write(contents.page(page), at: Int64(page) * Int64(header.pageSize), file)
            }
            // Where nobody has the file open, nobody knows of a later commit. The header may show any two of before.
            if !isShared {
                for (commit, fields) in contents.fields where sealed == nil || commit == contents.newest {
                    try write(fields, at: place(of: commit, MetaPage.fields.lowerBound), file)
                }
            }
            try sync(file)
        }
        if let pending = header.pending {
            if isShared || contents == nil || sealed != nil { try settle(pending, file) }
            if counts(pending), let pages = try pages(of: file) { try? CommitNote.pass(to: pending, in: pages) }
        }
        // It is of no more use, and to leave it does no harm.
        if let journal = try? FileDescriptor(opening: journalPath, .readingAndWriting) {
            try? journal.setSize(0)
            journal.close()
        }
    }

    /// Whether a pending commit is whole.
    private func counts(_ commit: UInt64) -> Bool { sealed != nil || contents?.newest == commit }

    /// The data file as it is by now.
    private func pages(of file: FileDescriptor) throws(LMDBError) -> PageMap? {
        guard let size = file.size else { return nil }
        return try PageMap(file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
    }

    private func isSealed(_ page: UInt64) -> Bool { sealed?.contains(page) ?? false }

    /// Shows that the newest commit counts, or takes it back.
    private func settle(_ commit: UInt64, _ file: FileDescriptor) throws(LMDBError) {
        guard let pages = try pages(of: file) else { return }
        if counts(commit) {
            // A process that died may have left it to the system, which tells only once of a page that it could not write.
            for number in (sealed ?? []).union([commit & 1]) {
                let page = pages.page(number)
                let bytes = (0..<header.pageSize).map { page.byte(at: $0) }
                try write(bytes, at: Int64(number) * Int64(header.pageSize), file)
            }
            try sync(file)
            try write(
                Array(repeating: 0, count: MetaPage.mark.count), at: place(of: commit, MetaPage.mark.lowerBound), file)
        } else {
            let fields = pages.fieldsOfOther(commit, number: commit, mark: commit)
            try write(fields, at: place(of: commit, MetaPage.contents.lowerBound), file)
            try sync(file)
        }
    }

    /// For a reader who cannot write the file: it has to hold already what the journal has.
    ///
    /// A page that is free after the journal's newest commit may have other bytes, of a later commit that failed.
    /// A pending commit is shown only once it is on disk, in one of the two files.
    private func confirm() throws(LMDBError) -> UInt64? {
        if let contents {
            let missing = contents.pages.filter { number in
                if isSealed(number) { return false }
                let page = try? file.read(header.pageSize, at: Int64(number) * Int64(header.pageSize))
                return page.map { !contents.isSame(number, as: $0) } ?? true
            }
            guard try areFree(missing, after: contents.newest), (try? DataFileHeader(file)) != nil else {
                throw LMDBError(
                    .permissionDenied, operation: "open", path: path,
                    message:
                        "The store was not closed, and its newest commits are in its journal: open it once as somebody "
                        + "who may write it, for reading or writing.")
            }
        }
        let isOnDisk: Bool
        if sealed != nil {
            isOnDisk = Self.isOnDisk(file)
        } else if contents?.newest == header.pending, let journal = try? FileDescriptor(opening: journalPath, .reading)
        {
            isOnDisk = Self.isOnDisk(journal)
            journal.close()
        } else {
            isOnDisk = false
        }
        return isOnDisk ? header.pending : nil
    }

    /// Whether a commit lists all of these pages as free.
    private func areFree(_ numbers: [UInt64], after commit: UInt64) throws(LMDBError) -> Bool {
        guard !numbers.isEmpty else { return true }
        guard let pages = try pages(of: file) else { return false }
        let snapshot = Snapshot(pages)
        // Nobody writes meanwhile, because no process has the file open.
        guard let loading = try? snapshot.load(commit), loading != .gone else { return false }
        let free = snapshot.freePages()
        // The list's own pages, which were read just now, may not be among those that are missing.
        return numbers.allSatisfy { free.contains($0) && !pages.isExamined($0) }
    }

    /// Syncs a file that was opened for reading.
    private static func isOnDisk(_ file: FileDescriptor) -> Bool {
        do {
            try file.syncData()
            return true
        } catch {
            return error.isSyncWithoutMedium
        }
    }

    /// A place in the page of the header that a commit has.
    private func place(of commit: UInt64, _ offset: Int) -> Int64 {
        Int64(commit & 1) * Int64(header.pageSize) + Int64(offset)
    }

    private func write(_ bytes: [UInt8], at place: Int64, _ file: FileDescriptor) throws(LMDBError) {
        try LMDBError.attempt("write", path, file: file, file.write(RawSpan(_elements: bytes.span), at: place))
    }

    private func sync(_ file: FileDescriptor) throws(LMDBError) {
        try LMDBError.attempt("sync", path, file: file, file.syncData())
    }
}

/// A journal as it was found: the newest bytes of each page that its commits wrote, as far as they are whole.
struct JournalContents {
    /// LMDB's fields of a commit.
    private struct Commit {
        var number: UInt64
        /// Where the fields are.
        var place: Int
    }

    /// Where the bytes of a page are.
    private struct Image {
        var place: Int
        var head: Int
        var tail: Int
    }

    let pageSize: Int
    /// The commit that all others follow, which the data file has on disk.
    let base: UInt64
    private let bytes: [UInt8]
    private var images: [UInt64: Image] = [:]
    /// The last two commits.
    private var before: Commit?
    private var last: Commit

    /// - Parameters:
    ///   - path: the journal.
    ///   - number: the data file's; nil takes any journal.
    /// - Returns: nil when there is none, or when it belongs to another data file.
    init?(path: String, number: JournalNumber? = nil) {
        guard let file = try? FileDescriptor(opening: path, .reading) else { return nil }
        defer { file.close() }
        guard let size = file.size, size > JournalLayout.headBytes,
            let bytes = try? file.read(min(Int(size), JournalLayout.capacityBytes), at: 0),
            let header = JournalPart(bytes, 0, JournalLayout.headBytes), header.isWhole,
            header.integer(4, UInt32.self) == JournalLayout.magic, let own = JournalNumber(header.number),
            own == number ?? own
        else { return nil }
        let pageSize = Int(header.integer(JournalLayout.countOffset, UInt32.self))
        guard PageLayout.isPageSize(pageSize) else { return nil }
        self.bytes = bytes
        self.pageSize = pageSize
        base = header.integer(JournalLayout.commitOffset, UInt64.self)
        last = Commit(number: base, place: JournalLayout.fieldsOffset)
        var place = JournalLayout.blockBytes
        while let next = take(place, own) { place = next }
    }

    /// The newest commit that is whole.
    var newest: UInt64 { last.number }

    /// Whether there is any that the data file may lack.
    var isEmpty: Bool { before == nil }

    /// The pages, in the order of their numbers.
    var pages: [UInt64] { images.keys.sorted() }

    /// Adds the pages of an entry.
    ///
    /// - Returns: where the next one begins; nil when this one is none that follows the one before.
    private mutating func take(_ start: Int, _ number: JournalNumber) -> Int? {
        guard let head = JournalPart(bytes, start, JournalLayout.headBytes),
            head.number == number.bytes,
            head.integer(JournalLayout.commitOffset, UInt64.self) == newest &+ 1,
            let entry = JournalPart(bytes, start, Int(head.integer(4, UInt32.self))), entry.isWhole
        else { return nil }
        let count = Int(head.integer(JournalLayout.countOffset, UInt32.self))
        guard count <= (entry.count - JournalLayout.headBytes) / JournalLayout.pageBytes else { return nil }
        var added: [(UInt64, Image)] = []
        var place = start + JournalLayout.headBytes + count * JournalLayout.pageBytes
        for index in 0..<count {
            let row = JournalLayout.headBytes + index * JournalLayout.pageBytes
            let page = entry.integer(row, UInt64.self)
            let head = Int(entry.integer(row + 8, UInt32.self))
            let tail = Int(entry.integer(row + 12, UInt32.self))
            guard page >= PageLayout.firstPage, page < 1 << 47 / UInt64(pageSize), head + tail <= pageSize,
                place + head + tail <= start + entry.count
            else { return nil }
            added.append((page, Image(place: place, head: head, tail: tail)))
            place += head + tail
        }
        for (page, image) in added { images[page] = image }
        before = last
        last = Commit(number: newest &+ 1, place: start + JournalLayout.fieldsOffset)
        return start + JournalLayout.wholeBlocks(entry.count)
    }

    /// All of a page, with zeros where nothing is.
    func page(_ number: UInt64) -> [UInt8] {
        guard let image = images[number] else { return [] }
        var page = [UInt8](repeating: 0, count: pageSize)
        page.replaceSubrange(..<image.head, with: bytes[image.place..<image.place + image.head])
        let tail = bytes[image.place + image.head..<image.place + image.head + image.tail]
        page.replaceSubrange((pageSize - image.tail)..., with: tail)
        return page
    }

    /// Whether a page of the data file says the same.
    func isSame(_ number: UInt64, as page: [UInt8]) -> Bool {
        guard let image = images[number], page.count == pageSize else { return false }
        let tail = image.place + image.head
        return page[..<image.head] == bytes[image.place..<tail]
            && page[(pageSize - image.tail)...] == bytes[tail..<tail + image.tail]
    }

    /// LMDB's fields of the last two commits, and that they are on disk.
    var fields: [(commit: UInt64, bytes: [UInt8])] {
        [before, last].compactMap { commit in
            guard let commit else { return nil }
            let fields = bytes[commit.place..<commit.place + MetaPage.fields.count]
            return (commit.number, Array(fields) + Array(repeating: 0, count: MetaPage.mark.count))
        }
    }
}

/// Some bytes of a journal that begin with a checksum.
private struct JournalPart {
    private let bytes: ArraySlice<UInt8>
    let count: Int

    /// Nil when they are not all there.
    init?(_ bytes: [UInt8], _ start: Int, _ count: Int) {
        guard count >= JournalLayout.headBytes, start <= bytes.count, count <= bytes.count - start else { return nil }
        self.bytes = bytes[start..<start + count]
        self.count = count
    }

    var isWhole: Bool {
        unsafe bytes.withUnsafeBytes { unsafe JournalLayout.checksum($0) == $0.loadUnaligned(as: UInt32.self) }
    }

    var number: [UInt8] {
        Array(bytes.dropFirst(JournalLayout.numberOffset).prefix(JournalNumber.byteCount))
    }

    /// - Parameter offset: inside, with the bytes of the integer.
    func integer<Number: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= count, "Outside of the part.")
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
}
