import TraylogPlatform

/// Makes a data file whole that a process left without closing it, before LMDB opens it.
///
/// The pages in the journal are written into the data file, which may lack any of them after a power cut. A pending commit
/// that has neither an entry nor a seal that fits is taken back: nobody was answered from it.
package struct JournalReplay {
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
    package static func run(
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
    /// A pending commit is shown only once it is on disk, in one of the two files.
    private func confirm() throws(LMDBError) -> UInt64? {
        if let contents {
            let isWhole = contents.pages.allSatisfy { number in
                if isSealed(number) { return true }
                let page = try? file.read(header.pageSize, at: Int64(number) * Int64(header.pageSize))
                return page.map { contents.isSame(number, as: $0) } ?? false
            }
            guard isWhole, (try? DataFileHeader(file)) != nil else {
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
