import Glibc

/// A commit that the header shows under the number of the one two before it, so that LMDB goes by the one in between.
///
/// LMDB leaves a header like that when it could not write its page: it puts the old number back, and leaves the new
/// tables. One changed bit of the newest number does the same. The number does not tell, but the list of free pages does:
/// each commit lists the pages that it freed under its own.
struct RenumberedCommit {
    private static let numberOffset = 144
    /// The records of the free list and of the tables, and the last page.
    private static let contents = 40..<144

    private let path: String
    private let snapshot: Snapshot
    private let number: UInt64

    /// Puts the header right before LMDB opens the file.
    ///
    /// If the commit failed, its caller knows that it may be there, and its pages were on disk before its header was
    /// written; if it did not, it is the newest there is. So it counts, if its pages are whole. The caller holds the open
    /// lock.
    ///
    /// - Throws: ``LMDBError`` when the file cannot be written.
    static func settle(_ location: StoreLocation, access: Environment.Access) throws(LMDBError) {
        let descriptor = unsafe open(location.dataPath, O_RDONLY | O_CLOEXEC)
        // What else is wrong with a file is for others to find.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard let header = try? DataFileHeader.read(descriptor: descriptor),
            let size = FileIdentity.status(descriptor: descriptor)?.size
        else { return }
        let pages = try PageMap(
            descriptor: descriptor, path: location.dataPath, byteCount: Int(size), pageSize: header.pageSize,
            tableNames: [])
        guard let commit = RenumberedCommit(pages, newest: header.transaction) else { return }
        // While others have the file open, the lock file knows the newest number, and LMDB goes by that.
        if !ReaderTable(path: location.lockPath).isOpenElsewhere, commit.isWhole {
            try commit.restore()
        } else if access == .readWrite {
            try commit.clear()
        }
    }

    /// - Parameter newest: the number that LMDB goes by.
    /// - Returns: nil when the other page of the header is that of the commit before.
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
            try write(unsafe withUnsafeBytes(of: number) { unsafe Array($0) }, at: Self.numberOffset)
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
        let newest = snapshot.pages.page(~number & 1)
        try write(Self.contents.map { newest.byte(at: $0) }, at: Self.contents.lowerBound)
    }

    /// Writes into the commit's page of the header, through to the disk.
    private func write(_ bytes: [UInt8], at offset: Int) throws(LMDBError) {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, operation: "open", path: path) }
        defer { close(descriptor) }
        let place = off_t(Int(number & 1) * snapshot.pageSize + offset)
        let written = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, place) }
        let number = written < 0 ? errno : EIO
        guard written == bytes.count, fdatasync(descriptor) == 0 else {
            throw .system(
                written == bytes.count ? errno : number, operation: "write", path: path, descriptor: descriptor)
        }
    }
}
