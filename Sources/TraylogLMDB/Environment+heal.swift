import CTraylogLMDB

extension Environment {
    /// Makes the environment usable again after a commit that failed half-way.
    ///
    /// When a meta page cannot be written, LMDB refuses every transaction from then on, of readers too. The data file
    /// is sound all the same, and opening it again is all that it takes. Transactions begin with this by themselves;
    /// whoever keeps in memory what is in the file has to look at it anew when the answer changes, because the
    /// commit that failed may be there: whole, and perhaps not on disk before the next one.
    ///
    /// - Returns: how often the file had to be opened anew so far.
    /// - Throws: ``LMDBError``, of the opening; the next transaction tries again.
    @discardableResult
    package func heal() throws(LMDBError) -> Int {
        let isRefused = try hasGivenUp()
        if isRefused, try !reopen() { throw failure(MDB_PANIC, "open again") }
        return try reopeningCount()
    }

    /// Opens the data file anew where LMDB has given it up, with no transaction under way.
    ///
    /// - Returns: false when a transaction of this thread is in the way.
    func reopen() throws(LMDBError) -> Bool {
        try checkProcess("open again")
        var problem: LMDBError?
        let isDrained = gate.drain {
            do throws(LMDBError) {
                try replaceHandle()
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return isDrained
    }

    private func hasGivenUp() throws(LMDBError) -> Bool {
        try checkProcess("open again")
        guard let entered = gate.enter() else { throw closedError("open again") }
        defer { _ = gate.leave(entered.index, keeping: entered.handle) }
        return refusesTransactions()
    }

    private func reopeningCount() throws(LMDBError) -> Int {
        try use("open again") { reopenings }
    }

    /// Asked by trying: LMDB does not tell its state.
    private func refusesTransactions() -> Bool {
        if isLost { return true }
        var transaction: OpaquePointer?
        let result = unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if result == 0, let transaction = unsafe transaction { unsafe mdb_txn_abort(transaction) }
        return result == MDB_PANIC
    }

    /// The caller keeps everybody else out. Lease and claim stay, so that nobody comes in between.
    private func replaceHandle() throws(LMDBError) {
        // Another thread may have been faster.
        guard refusesTransactions() else { return }
        gate.takeIdleHandles { unsafe mdb_txn_abort($0.pointer) }
        try openLock.acquire()
        defer { openLock.release() }
        if !isLost { unsafe mdb_env_close(handle) }
        isLost = true
        let mapped = try MappedStore(
            StoreLocation(directory: directory), access: access, databases: databaseNames,
            configuration: configuration)
        // LMDB numbers databases in the order in which they are opened.
        precondition(mapped.databases == databases, "The databases have other numbers than before.")
        unsafe handle = mapped.handle
        dataDescriptor = mapped.dataDescriptor
        isLost = false
        reopenings += 1
        coverLastPage()
    }
}
