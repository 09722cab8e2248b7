import CTraylogLMDB

extension Environment {
    /// Makes the environment usable again after a commit that failed half-way.
    ///
    /// When a meta page cannot be written, LMDB refuses every transaction from then on, of readers too. The data file
    /// is sound all the same, and opening it again is all that it takes. Transactions begin with this by themselves;
    /// whoever keeps in memory what is in the file has to look at it anew when the answer changes, because the
    /// commit that failed may be there: whole, and perhaps not on disk before the next one.
    ///
    /// - Returns: how often a commit failed so far after it was in the file, or the file had to be opened anew.
    /// - Throws: ``LMDBError``, of the opening; the next transaction tries again.
    @discardableResult
    package func heal() throws(LMDBError) -> Int {
        try checkProcess("open again")
        let file = try openFile("open again")
        if try hasGivenUp(file), try !reopen(file) { throw failure(MDB_PANIC, "open again") }
        return failures.load(ordering: .acquiring)
    }

    /// Opens the data file anew where LMDB has given it up, with no transaction under way.
    ///
    /// - Returns: false when a transaction of this thread is in the way.
    func reopen(_ file: EnvironmentFile) throws(LMDBError) -> Bool {
        try checkProcess("open again")
        var problem: LMDBError?
        let isDrained = file.gate.drain {
            do throws(LMDBError) {
                try replaceHandle(of: file)
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return isDrained
    }

    private func hasGivenUp(_ file: EnvironmentFile) throws(LMDBError) -> Bool {
        guard let entered = file.gate.enter() else {
            try checkIsOpen(file, "open again")
            return false
        }
        defer { _ = file.gate.leave(entered.index, keeping: entered.handle) }
        return file.refusesTransactions()
    }

    /// The caller keeps everybody else out.
    ///
    /// Lease and claims stay, so that nobody comes in between.
    private func replaceHandle(of file: EnvironmentFile) throws(LMDBError) {
        // Another thread may have been faster; and a file that was replaced is opened by nobody any more.
        guard file.refusesTransactions(), self.file === file else { return }
        try openLock?.acquire()
        defer { openLock?.release() }
        file.giveUp()
        let mapped = try MappedStore(
            file.directory, access: access, usesLocks: usesLocks, databases: databaseNames,
            configuration: configuration)
        file.takeOver(mapped)
        failures.add(1, ordering: .acquiringAndReleasing)
        file.coverLastPage()
    }
}

extension EnvironmentFile {
    /// Asked by trying: LMDB does not tell its state.
    fileprivate func refusesTransactions() -> Bool {
        if isLost { return true }
        var transaction: OpaquePointer?
        let result = unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if result == 0, let transaction = unsafe transaction { unsafe mdb_txn_abort(transaction) }
        return result == MDB_PANIC
    }
}
