import CTraylogLMDB
import TraylogPlatform

/// LMDB's environment for one data file and one lock file: the pair that an ``Environment`` works on until another takes
/// its place.
///
/// A transaction stays with the file it began on. A file that was replaced is closed when its last transaction ends.
@safe
@usableFromInline final class EnvironmentFile: @unchecked Sendable {
    // @unchecked: the fields are constants but for those of an opening, which change only while the gate holds every
    // use back, and for those that the writer changes in its turn, which are read there and when no transaction is
    // left. LMDB's environment may be used by all threads (MDB_NOTLS), and the gate keeps all that before its closing.
    private(set) var handle: OpaquePointer
    /// The data file as LMDB opened it; closed with the environment.
    private(set) var dataFile: FileDescriptor
    /// The data file as it is read.
    private(set) var pages: PageMap
    /// Used by the one thread that writes.
    @usableFromInline private(set) var writeCheck: WriteCheck
    /// LMDB gave the environment up and could not open it again: there is no ``handle``.
    private(set) var isLost = false
    /// The file was opened again after a commit that failed, whose page of the header the next one has to look at first.
    private var mayBeRenumbered = false
    /// Used by the one thread that writes.
    private(set) var journal: Journal
    /// The file is known to have so many bytes; it only grows.
    private var knownBytes = 0
    /// Whether no commit failed so far.
    private var isSound = true
    /// The last commit failed, and may be pending.
    var hasFailed = false
    let databases: [String: Database]
    let gate = TransactionGate()
    let directory: EnvironmentDirectory
    private let claim: EnvironmentRegistry.Claim
    /// The environment whose place it took, until that is on disk and the files of before are gone.
    let predecessor = Monitor<EnvironmentDirectory?>(nil)

    /// The last page at the last sync of a file that is being filled; used by the one thread that writes.
    private var syncedPage = 0
    private static let pagesBetweenSyncs = 1_024

    /// Takes over the handle and the claim on the data file.
    init(_ mapped: MappedStore, directory: EnvironmentDirectory, claim: EnvironmentRegistry.Claim) {
        unsafe handle = mapped.handle
        dataFile = mapped.dataFile
        pages = mapped.pages
        writeCheck = mapped.writeCheck
        journal = mapped.journal
        databases = mapped.databases
        self.directory = directory
        self.claim = claim
    }

    var pageSizeBytes: Int { pages.pageSize }

    /// Gives everything back; called once, when no transaction is left.
    ///
    /// - Parameter openLock: of the directory; nil for a file that no other process can open at this moment.
    func close(_ openLock: OpenLock?) {
        // Without the lock, libraries from 0.9.26 to 0.9.31 break a process that opens the store right now.
        let isLocked = openLock?.tryAcquire() ?? false
        try? takeBackFailed()
        endAtLastPage()
        if !isLost { closeJournal() }
        giveUp()
        if isLocked { openLock?.release() }
        claim.release()
    }

    /// The same for a file that has lost its name.
    func closeReplaced() {
        // Once it is closed, its number may be another file's.
        claim.release()
        journal.close(isNeedless: false)
        giveUp()
    }

    /// Closes LMDB's environment alone; no transaction is under way, and the caller lets none begin.
    func giveUp() {
        gate.takeIdleHandles { $0.end() }
        if !isLost { unsafe mdb_env_close(handle) }
        isLost = true
    }

    /// Goes on with the same data file as it was opened anew.
    func takeOver(_ mapped: MappedStore) {
        // LMDB numbers databases in the order in which they are opened.
        precondition(mapped.databases == databases, "The databases have other numbers than before.")
        unsafe handle = mapped.handle
        dataFile = mapped.dataFile
        pages = mapped.pages
        writeCheck = mapped.writeCheck
        journal.close(isNeedless: false)
        journal = mapped.journal
        isLost = false
        mayBeRenumbered = true
        hasFailed = true
    }

    /// Takes what a commit that failed left out of the header, before anything is written over its pages.
    ///
    /// - Parameter newest: the commit that the next one follows.
    /// - Throws: ``LMDBError``; nothing may be written then.
    func clearFailedCommit(newest: UInt64) throws(LMDBError) {
        guard mayBeRenumbered else { return }
        try RenumberedCommit(pages, newest: newest)?.clear()
        mayBeRenumbered = false
    }

    /// The file's size and map, which LMDB reports without a transaction.
    func mapState() -> MapState {
        var raw = unsafe MDB_envinfo()
        unsafe mdb_env_info(handle, &raw)
        return MapState(
            sizeBytes: unsafe raw.me_mapsize, lastPage: unsafe raw.me_last_pgno,
            lastTransaction: UInt64(unsafe raw.me_last_txnid),
            maximumReaders: Int(unsafe raw.me_maxreaders))
    }

    /// Frees the reader slots of dead processes.
    @discardableResult
    func reap() -> Int {
        guard !isLost else { return 0 }
        var dead: Int32 = 0
        unsafe mdb_reader_check(handle, &dead)
        return Int(dead)
    }

    /// Takes over the map size that another process gave the file; false when a transaction of this thread is in the
    /// way.
    func remap() -> Bool { resizeMap(to: 0) }

    /// Changes the size of the map; false when a transaction of this thread is in the way, or when the system has no
    /// room for it.
    ///
    /// - Parameter byteCount: 0 for what the file says.
    func resizeMap(to byteCount: Int) -> Bool {
        var isMapped = true
        let isDrained = gate.drain {
            unsafe _ = mdb_env_set_mapsize(self.handle, byteCount)
            isMapped = pages.resize(to: mapState().sizeBytes)
        }
        return isDrained && isMapped
    }

    /// Syncs a file that is being filled, when it has grown by some megabytes since the last time.
    ///
    /// A failure is no concern of the commit's: the sync at the end meets it again.
    func syncIfGrown() {
        let page = mapState().lastPage
        guard page - syncedPage >= Self.pagesBetweenSyncs else { return }
        syncedPage = page
        try? dataFile.syncData()
    }

    /// Notes that a commit failed.
    func noteInDoubt() {
        (hasFailed, isSound) = (true, false)
        journal.forget()
        writeCheck.forgetNote()
    }

    /// Makes the file at least as long as its header says, after a commit, and then by some more.
    ///
    /// LMDB leaves out pages that one transaction took and gave up again, and readers take a short file for a truncated
    /// one. With the rest, few commits change the file's length: on some file systems a sync of the journal waits for the new
    /// length of a file beside it, too. No space is used. A failure does no harm: the next commit that takes new pages tries
    /// again, and an opening looks closer at a short file.
    func coverLastPage() {
        let state = mapState()
        let needed = (state.lastPage + 1) * pageSizeBytes
        guard knownBytes < needed, let size = dataFile.size else { return }
        let room = min(max(needed / 8, Self.roomBytes.lowerBound), Self.roomBytes.upperBound)
        let limit = min(needed + room, state.sizeBytes, FileSystem.sizeLimit)
        let length = max(needed, limit - limit % pageSizeBytes)
        let isLonger = size >= length || (try? dataFile.setSize(Int64(length))) != nil
        knownBytes = isLonger ? max(Int(size), length) : Int(size)
    }

    private static let roomBytes = (64 << 10)...(1 << 20)

    /// Makes the file as long as its header says, at the end.
    ///
    /// After a commit that failed it may have a newer last page than LMDB knows of. A reader's descriptor changes nothing.
    private func endAtLastPage() {
        guard isSound, !isLost else { return }
        let needed = Int64((mapState().lastPage + 1) * pageSizeBytes)
        if let size = dataFile.size, size > needed { try? dataFile.setSize(needed) }
    }
}

/// The size of an environment and its map, which LMDB reports without a transaction.
struct MapState: Sendable {
    var sizeBytes: Int
    var lastPage: Int
    var lastTransaction: UInt64
    var maximumReaders: Int
}

/// One sync for a small commit: see ``Journal`` and Docs/decisions/0009-one-sync.md.
extension EnvironmentFile {
    /// Before LMDB commits: marks the commit as pending, because it will not be on disk at once, or takes such a mark away that
    /// a failed commit of this number left.
    func prepareCommit(_ number: UInt64, isPending: Bool) throws(LMDBError) {
        if isPending || pages.isPending(number) { try pages.mark(number, asPending: isPending) }
    }

    /// Lets LMDB commit without syncing, in the writer's turn.
    ///
    /// LMDB 0.9 knows that as a flag of the environment alone, which no read transaction looks at.
    @unsafe func commitUnsynced(_ transaction: OpaquePointer) -> Int32 {
        unsafe mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), 1)
        defer { unsafe mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), 0) }
        return unsafe mdb_txn_commit(transaction)
    }

    /// After LMDB has committed without syncing: makes the commit safe against power loss, and lets readers see it.
    ///
    /// One sync, of the journal or of the data file; two for a commit of many pages.
    func makeSafe(_ number: UInt64) throws(LMDBError) {
        let proof = try journal.prove(number)
        if proof != .entry { try syncData() }
        try pages.markWritten(number, leaving: writeCheck.note(of: number))
        if proof == .none { try syncData() }
        if proof != .entry { journal.begin(after: number) }
    }

    /// Before the last process leaves the file, or nothing more is written to it.
    func closeJournal() {
        let isNeedless = !journal.isNeeded || !hasFailed && (try? syncData()) != nil
        journal.close(isNeedless: isNeedless)
    }

    /// Takes back what failed after LMDB had committed it: nobody was answered from it, and its pages may be lost.
    ///
    /// - Throws: ``LMDBError``; nothing may be written then.
    func takeBackFailed() throws(LMDBError) {
        guard hasFailed, !isLost else { return }
        if let commit = pendingCommit { try pages.takeBack(commit) }
        try syncData()
        hasFailed = false
    }

    /// The newest commit, if it is pending: it is under way, or failed.
    var pendingCommit: UInt64? {
        let newest = mapState().lastTransaction
        return pages.isPending(newest) ? newest : nil
    }

    private func syncData() throws(LMDBError) {
        try LMDBError.attempt("sync", directory.path, file: dataFile, dataFile.syncData())
    }
}
