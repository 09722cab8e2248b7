import TraylogPlatform

/// A commit that the header shows under the number of the one two before it, so that LMDB goes by the one in between.
///
/// LMDB leaves a header like that when it could not write its page: it puts the old number back, and leaves the new
/// tables. One changed bit of the newest number does the same. The number does not tell, but the list of free pages does:
/// each commit lists the pages that it freed under its own.
struct RenumberedCommit {
    private let path: String
    private let snapshot: Snapshot
    private let number: UInt64

    /// Puts the header right before LMDB opens the file.
    ///
    /// If the commit failed, its caller knows that it may be there, and its pages were on disk before its header was
    /// written, unless it is pending; if it did not, it is the newest there is. So it counts, if its pages are whole and it
    /// is not pending. The caller holds the open lock.
    ///
    /// - Parameters:
    ///   - path: the data file.
    ///   - readers: the lock file beside it.
    ///   - isWriter: whether the caller is the one who may write the store.
    /// - Throws: ``LMDBError`` when the file cannot be written.
    static func settle(_ path: String, readers: ReaderTable, isWriter: Bool) throws(LMDBError) {
        // What else is wrong with a file is for others to find.
        guard let file = try? FileDescriptor(opening: path, .reading) else { return }
        defer { file.close() }
        guard let header = try? DataFileHeader(file), let size = file.size else { return }
        let pages = try PageMap(file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
        guard let commit = RenumberedCommit(pages, newest: header.newest) else { return }
        // While others have the file open, the lock file knows the newest number, and LMDB goes by that.
        if !readers.isOpenElsewhere, !pages.isPending(commit.number), commit.isWhole {
            try commit.restore()
        } else if isWriter {
            try commit.clear()
        }
    }

    /// - Parameter newest: the number that LMDB goes by.
    /// - Returns: nil when the other page of the header has the commit before.
    init?(_ pages: PageMap, newest: UInt64) {
        snapshot = Snapshot(pages)
        path = pages.path
        guard let number = snapshot.loadRenumbered(behind: newest) else { return nil }
        self.number = number
    }

    /// Whether all pages are there and in one place, which they are not where LMDB put only part of the old header back.
    private var isWhole: Bool {
        guard let account = try? PageAccount(snapshot, .outline) else { return false }
        return account.findings.allSatisfy { $0.fault == .lost }
    }

    /// Gives the commit its number back.
    private func restore() throws(LMDBError) {
        do throws(LMDBError) {
            try write(unsafe withUnsafeBytes(of: number) { unsafe Array($0) }, at: MetaPage.numberOffset)
        } catch  where error.code == .permissionDenied || error.code == .readOnly {
            throw LMDBError(
                .corrupted, operation: "open", path: path,
                message:
                    "The newest commit has the number of an older one, by damage or after a write that failed, and only "
                    + "who may write to the store can put that right: open it for writing once.")
        }
    }

    /// Makes its page show what the newest one shows: the next commit writes over its pages.
    func clear() throws(LMDBError) {
        // Its own mark goes, too, for the next commit of this number.
        let fields = snapshot.pages.fieldsOfOther(number, number: max(number, 2) - 2, mark: 0)
        try write(fields, at: MetaPage.contents.lowerBound)
    }

    /// Writes into the commit's page of the header, through to the disk.
    private func write(_ bytes: [UInt8], at offset: Int) throws(LMDBError) {
        let file = try LMDBError.attempt("open", path, FileDescriptor(opening: path, .readingAndWriting))
        defer { file.close() }
        let place = Int64(Int(number & 1) * snapshot.pageSize + offset)
        try LMDBError.attempt("write", path, file: file, file.write(RawSpan(_elements: bytes.span), at: place))
        try LMDBError.attempt("write", path, file: file, file.syncData())
    }
}
