import CTraylogLMDB

/// One sync for a small commit: see ``Journal`` and Docs/decisions/0009-one-sync.md.
extension EnvironmentFile {
    /// Before LMDB commits: notes that the commit will not be on disk at once, or takes such a note away that a failed commit
    /// of this number left.
    func prepareCommit(_ number: UInt64, isPending: Bool) throws(LMDBError) {
        if isPending || pages.isPending(number) { try pages.notePending(number, isPending) }
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
        try pages.noteWritten(number, writeCheck.note(of: number))
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
