import TraylogPlatform

/// Makes a data file whole that a process left without closing it, before LMDB opens it.
///
/// What the journal has is written into the data file, which may lack any part of it after a power cut. A pending commit
/// that the journal lacks is taken back: nobody was answered from it.
package struct JournalReplay {
    private let path: String
    private let journalPath: String
    private let file: FileDescriptor
    private let contents: JournalContents?
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
        let isShared = readers.isOpenElsewhere
        guard isWriter || !isShared else { return nil }
        let replay = JournalReplay(path, journalPath, file, isShared: isShared)
        guard replay.isNeeded else { return nil }
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

    private init(_ path: String, _ journalPath: String, _ file: FileDescriptor, isShared: Bool) {
        self.path = path
        self.journalPath = journalPath
        self.file = file
        self.isShared = isShared
        contents = Self.contents(journalPath, of: file)
    }

    /// The journal, if it is that of the file and newer than that.
    private static func contents(_ path: String, of file: FileDescriptor) -> JournalContents? {
        guard let first = FileBytes(file, at: 0, count: MetaPage.journal.upperBound),
            let number = JournalNumber(first.bytes[MetaPage.journal]),
            let contents = JournalContents(path: path, number: number), !contents.isEmpty,
            let second = FileBytes(file, at: Int64(contents.pageSize), count: MetaPage.journal.upperBound)
        else { return nil }
        var newest: UInt64 = 0
        var newestOnDisk: UInt64 = 0
        for page in [first, second] {
            let commit = page.integer(at: MetaPage.numberOffset, as: UInt64.self)
            let mark = page.integer(at: MetaPage.mark.lowerBound, as: UInt64.self)
            newest = max(newest, commit)
            if mark != ~commit { newestOnDisk = max(newestOnDisk, mark == commit ? commit - min(commit, 1) : commit) }
        }
        // A commit that is not in the journal, and on disk, came after it: so did all that is in the journal.
        guard newest >= contents.base, newestOnDisk <= contents.newest else { return nil }
        return contents
    }

    /// The newest commit of the file, if it is pending.
    private var pending: DataFileHeader? {
        guard let header = try? DataFileHeader.read(file), header.isPending else { return nil }
        return header
    }

    private var isNeeded: Bool { contents != nil || pending != nil }

    private func run(_ file: FileDescriptor) throws(LMDBError) {
        if let contents {
            for page in contents.pages {
                try write(contents.page(page), at: Int64(page) * Int64(contents.pageSize), file)
            }
            // Where nobody has the file open, nobody knows of a later commit. The header may show any two of before.
            if !isShared {
                for (commit, fields) in contents.fields {
                    let page = Int64(commit & 1) * Int64(contents.pageSize)
                    try write(fields, at: page + Int64(MetaPage.fields.lowerBound), file)
                }
            }
            try sync(file)
        }
        if let pending { try settle(pending, file) }
        // It is of no more use, and to leave it does no harm.
        if let journal = try? FileDescriptor(opening: journalPath, .readingAndWriting) {
            try? journal.setSize(0)
            journal.close()
        }
    }

    /// Shows that the newest commit counts, or takes it back.
    private func settle(_ header: DataFileHeader, _ file: FileDescriptor) throws(LMDBError) {
        let commit = header.transaction
        let place = Int64(commit & 1) * Int64(header.pageSize)
        if contents?.newest == commit {
            try write(
                Array(repeating: 0, count: MetaPage.mark.count), at: place + Int64(MetaPage.mark.lowerBound), file)
        } else {
            guard let size = file.size else { return }
            let pages = try PageMap(
                file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
            let fields = pages.fieldsOfOther(commit, number: commit, mark: commit)
            try write(fields, at: place + Int64(MetaPage.contents.lowerBound), file)
            try sync(file)
        }
    }

    /// For a reader who cannot write the file: it has to hold already what the journal has.
    private func confirm() throws(LMDBError) -> UInt64? {
        guard let contents else { return nil }
        let isWhole = contents.pages.allSatisfy { number in
            let page = try? file.read(contents.pageSize, at: Int64(number) * Int64(contents.pageSize))
            return page.map { contents.isSame(number, as: $0) } ?? false
        }
        guard isWhole, (try? DataFileHeader.read(file)) != nil, (try? sync(file)) != nil else {
            throw LMDBError(
                .permissionDenied, operation: "open", path: path,
                message:
                    "The store was not closed, and its newest commits are in its journal: open it once as somebody who may "
                    + "write it, for reading or writing.")
        }
        return pending?.transaction == contents.newest ? contents.newest : nil
    }

    private func write(_ bytes: [UInt8], at place: Int64, _ file: FileDescriptor) throws(LMDBError) {
        try LMDBError.attempt("write", path, file: file, file.write(RawSpan(_elements: bytes.span), at: place))
    }

    private func sync(_ file: FileDescriptor) throws(LMDBError) {
        try LMDBError.attempt("sync", path, file: file, file.syncData())
    }
}
