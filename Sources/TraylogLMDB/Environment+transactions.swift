import CTraylogLMDB

extension Environment {
    /// Runs `body` on a snapshot of the last commit.
    ///
    /// Readers wait for nobody, and writers do not wait for them. Beginning and ending cost about 100 ns together.
    /// Reads may be nested; each has a snapshot of its own.
    ///
    /// - Throws: ``LMDBError`` and what `body` throws.
    @inlinable
    package func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        let (slot, handle) = try beginRead()
        defer { endRead(slot, handle) }
        let transaction = unsafe ReadTransaction(handle: handle.pointer, environment: self)
        return try body(transaction)
    }

    /// Runs `body` as the one writer, commits when it returns, and gives everything up when it throws.
    ///
    /// Writes of other threads wait their turn. When this returns, readers see the changes, and with
    /// ``Durability/durable`` they are on disk. A batch should change less than 16 MB.
    ///
    /// - Throws: what `body` throws; the error of the first failed write, even if `body` caught it; and errors of the
    ///   commit, after which nothing was stored, unless ``heal()`` finds it there.
    @inlinable
    package func write<R: ~Copyable>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
        let handle = unsafe try beginWrite()
        var transaction = unsafe WriteTransaction(handle: handle, environment: self)
        let result: R
        do {
            result = try body(&transaction)
        } catch {
            unsafe abortWrite(handle, after: transaction.poison)
            throw error
        }
        unsafe precondition(transaction.reads.handle == handle, "A transaction was swapped out of its closure.")
        if let poison = transaction.poison {
            unsafe abortWrite(handle, after: poison)
            throw poison
        }
        unsafe try commit(handle)
        return result
    }

    @usableFromInline
    func beginRead() throws(LMDBError) -> (slot: Int, handle: ReadHandle) {
        try checkProcess("read")
        guard let (slot, idle) = gate.enter() else { throw closedError("read") }
        if let idle {
            if unsafe mdb_txn_renew(idle.pointer) == 0 { return (slot, idle) }
            unsafe mdb_txn_abort(idle.pointer)
        }
        return try beginNewRead(slot)
    }

    /// Begins a read transaction without a predecessor, giving the slot back when that fails.
    private func beginNewRead(_ slot: Int) throws(LMDBError) -> (slot: Int, handle: ReadHandle) {
        var slot = slot
        var attempts = 0
        while true {
            var handle: OpaquePointer?
            let result =
                isLost ? MDB_PANIC : unsafe mdb_txn_begin(self.handle, nil, UInt32(MDB_RDONLY), &handle)
            if result == 0, let handle = unsafe handle { return (slot, unsafe ReadHandle(handle)) }
            attempts += 1
            if result == MDB_READERS_FULL, attempts == 1 {
                reap()
                continue
            }
            _ = gate.leave(slot, keeping: nil)
            guard attempts < 8, try isMended(result) else { throw failure(result, "read") }
            guard let entered = gate.enter() else { throw closedError("read") }
            if let idle = entered.handle { unsafe mdb_txn_abort(idle.pointer) }
            slot = entered.index
        }
    }

    @usableFromInline
    func endRead(_ slot: Int, _ handle: ReadHandle) {
        unsafe mdb_txn_reset(handle.pointer)
        if let surplus = gate.leave(slot, keeping: handle) { unsafe mdb_txn_abort(surplus.pointer) }
    }

    @usableFromInline
    @unsafe func beginWrite() throws(LMDBError) -> OpaquePointer {
        try checkProcess("write")
        guard access == .readWrite else {
            throw LMDBError(
                .readOnly, operation: "write", path: directory,
                message: "The store was opened for reading: open it with access to write.")
        }
        var attempts = 0
        while true {
            try enterWriter()
            var handle: OpaquePointer?
            let result = isLost ? MDB_PANIC : unsafe mdb_txn_begin(self.handle, nil, 0, &handle)
            if result == 0, let handle = unsafe handle { return unsafe handle }
            gate.leaveWriter()
            attempts += 1
            guard attempts < 8, try isMended(result) else { throw failure(result, "write") }
        }
    }

    private func enterWriter() throws(LMDBError) {
        switch gate.enterWriter() {
        case .success(let isTimeToReap):
            if isTimeToReap { reap() }
        case .failure(.closed):
            throw closedError("write")
        case .failure(.nested):
            throw LMDBError(
                .nestedWrite, operation: "write", path: directory,
                message: "This thread is writing already: use the transaction it has.")
        }
    }

    /// Ends the writer's turn without storing anything.
    @usableFromInline
    @unsafe func abortWrite(_ handle: OpaquePointer, after poison: LMDBError?) {
        unsafe mdb_txn_abort(handle)
        // Pages that a dead reader pins may be all that was missing: the next attempt can succeed.
        if poison?.code == .mapFull { reap() }
        gate.leaveWriter()
    }

    @usableFromInline
    @unsafe func commit(_ handle: OpaquePointer) throws(LMDBError) {
        defer { gate.leaveWriter() }
        // LMDB frees the handle even when the commit fails.
        let result = unsafe mdb_txn_commit(handle)
        guard result == 0 else {
            if result == MDB_MAP_FULL { reap() }
            throw failure(result, "commit")
        }
        coverLastPage()
    }

    /// Whether what kept a transaction from beginning is gone, so that it can be tried again.
    private func isMended(_ result: Int32) throws(LMDBError) -> Bool {
        switch result {
        case MDB_MAP_RESIZED: remap()
        case MDB_PANIC: try reopen()
        default: false
        }
    }

    /// Takes over the map size that another process gave the file; false when a transaction of this thread is in the
    /// way.
    func remap() -> Bool {
        gate.drain { unsafe _ = mdb_env_set_mapsize(self.handle, 0) }
    }
}
