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
        let reading = try beginRead()
        defer { endRead(reading) }
        return try read(reading, body)
    }

    /// Lends what a read transaction under way shows.
    @inlinable
    func read<R: ~Copyable>(
        _ reading: Reading, _ body: (borrowing ReadTransaction) throws -> R
    ) throws -> R {
        let transaction = ReadTransaction(reading.handle.snapshot)
        if usesLocks { return try body(transaction) }
        do {
            let answer = try body(transaction)
            try checkIsWhole(reading)
            return answer
        } catch {
            // What was read from pages that are not the snapshot's may look like damage.
            try checkIsWhole(reading)
            throw error
        }
    }

    /// Makes sure that all pages of a snapshot were there until now, where no writer knows of it.
    ///
    /// - Throws: ``LMDBError/Code/overtaken``; what was read means nothing then.
    @usableFromInline
    func checkIsWhole(_ reading: Reading) throws(LMDBError) {
        if !usesLocks, !reading.handle.snapshot.isWhole { throw .overtaken("read", directory) }
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
        let (file, handle) = unsafe try beginWrite()
        var transaction = unsafe WriteTransaction(handle: handle, environment: self, check: file.writeCheck)
        let result: R
        do {
            result = try body(&transaction)
        } catch {
            unsafe abortWrite(file, handle, after: transaction.poison)
            throw error
        }
        unsafe precondition(transaction.handle == handle, "A transaction was swapped out of its closure.")
        if let poison = transaction.poison {
            unsafe abortWrite(file, handle, after: poison)
            throw poison
        }
        unsafe try commit(file, handle)
        return result
    }

    /// A read transaction under way.
    @usableFromInline
    typealias Reading = (file: EnvironmentFile, slot: Int, handle: ReadHandle)

    /// Begins a read transaction on the newest file.
    @usableFromInline
    func beginRead() throws(LMDBError) -> Reading {
        try checkProcess("read")
        if access == .readOnly { try checkPlaceNowAndThen() }
        while true {
            let reading = try beginCurrentRead()
            guard access == .readOnly, reading.file.pages.isBeingReplaced else { return reading }
            do throws(LMDBError) {
                guard try follow(reading.file) else { return reading }
            } catch {
                endRead(reading)
                throw error
            }
            endRead(reading)
        }
    }

    /// The same on the file that this process has.
    private func beginCurrentRead() throws(LMDBError) -> Reading {
        while true {
            let file = try openFile("read")
            if let reading = try begin(on: file, isPinned: false) { return reading }
            try checkIsOpen(file, "read")
        }
    }

    /// Begins a read transaction on a file that is pinned.
    func beginRead(on file: EnvironmentFile) throws(LMDBError) -> Reading {
        try checkProcess("read")
        guard let reading = try begin(on: file, isPinned: true) else { throw closedError("read") }
        return reading
    }

    /// - Returns: nil when the file was closed or, without a pin, replaced.
    private func begin(on file: EnvironmentFile, isPinned: Bool) throws(LMDBError) -> Reading? {
        guard let (slot, idle) = file.gate.enter(isPinned: isPinned) else { return nil }
        if let idle {
            if unsafe mdb_txn_renew(idle.pointer) == 0, try load(idle, file, slot) { return (file, slot, idle) }
            idle.end()
        }
        return try beginNewRead(file, slot, isPinned: isPinned)
    }

    /// Reads the header's page of the commit that a read transaction shows; gives both back when it makes no sense.
    private func load(_ handle: ReadHandle, _ file: EnvironmentFile, _ slot: Int) throws(LMDBError) -> Bool {
        do {
            return try handle.load()
        } catch {
            handle.end()
            _ = file.gate.leave(slot, keeping: nil)
            throw error
        }
    }

    /// Begins a read transaction without a predecessor, giving the slot back when that fails.
    ///
    /// - Returns: nil when the file was closed or replaced meanwhile.
    private func beginNewRead(
        _ file: EnvironmentFile, _ slot: Int, isPinned: Bool
    ) throws(LMDBError) -> Reading? {
        var slot = slot
        var attempts = 0
        while true {
            var handle: OpaquePointer?
            var result =
                file.isLost ? MDB_PANIC : unsafe mdb_txn_begin(file.handle, nil, UInt32(MDB_RDONLY), &handle)
            if result == 0, let handle = unsafe handle {
                let read = unsafe ReadHandle(handle, file.pages)
                if try load(read, file, slot) { return (file, slot, read) }
                read.end()
                // What keeps a transaction from being renewed is a map that has grown meanwhile.
                result = MDB_MAP_RESIZED
            }
            attempts += 1
            if result == MDB_READERS_FULL, attempts == 1 {
                file.reap()
                continue
            }
            _ = file.gate.leave(slot, keeping: nil)
            guard attempts < 8, try isMended(file, result) else { throw failure(result, "read") }
            guard let entered = file.gate.enter(isPinned: isPinned) else { return nil }
            entered.handle?.end()
            slot = entered.index
        }
    }

    @usableFromInline
    func endRead(_ reading: Reading) {
        unsafe mdb_txn_reset(reading.handle.pointer)
        reading.file.gate.leave(reading.slot, keeping: reading.handle)?.end()
    }

    @usableFromInline
    @unsafe func beginWrite() throws(LMDBError) -> (EnvironmentFile, OpaquePointer) {
        try checkProcess("write")
        guard access == .readWrite else {
            throw LMDBError(
                .readOnly, operation: "write", path: directory,
                message: "The store was opened for reading: open it with access to write.")
        }
        var attempts = 0
        while true {
            let file = try enterWriter("write")
            do throws(LMDBError) {
                // Before LMDB looks at the commit that the next one goes on from.
                try file.takeBackFailed()
            } catch {
                file.gate.leaveWriter()
                throw error
            }
            var handle: OpaquePointer?
            let result = file.isLost ? MDB_PANIC : unsafe mdb_txn_begin(file.handle, nil, 0, &handle)
            if result == 0, let handle = unsafe handle {
                do throws(LMDBError) {
                    let newest = UInt64(unsafe mdb_txn_id(handle)) - 1
                    try file.finishReplacement()
                    try file.clearFailedCommit(newest: newest)
                    try file.writeCheck.begin(after: newest)
                    try file.writeCheck.requirePagesOnce()
                    return unsafe (file, handle)
                } catch {
                    unsafe abortWrite(file, handle, after: nil)
                    throw error
                }
            }
            file.gate.leaveWriter()
            attempts += 1
            guard attempts < 8, try isMended(file, result) else { throw failure(result, "write") }
        }
    }

    /// Waits for the writer's turn.
    ///
    /// - Returns: the file to write; its gate has to be left.
    func enterWriter(_ operation: String) throws(LMDBError) -> EnvironmentFile {
        while true {
            let file = try openFile(operation)
            switch file.gate.enterWriter() {
            case .success(let isTimeToReap):
                if isTimeToReap { file.reap() }
                return file
            case .failure(.closed):
                try checkIsOpen(file, operation)
            case .failure(.nested):
                throw LMDBError(
                    .nestedWrite, operation: operation, path: directory,
                    message: "This thread is writing already: use the transaction it has.")
            }
        }
    }

    /// Ends the writer's turn without storing anything.
    @usableFromInline
    @unsafe func abortWrite(_ file: EnvironmentFile, _ handle: OpaquePointer, after poison: LMDBError?) {
        unsafe mdb_txn_abort(handle)
        // Pages that a dead reader pins may be all that was missing: the next attempt can succeed.
        if poison?.code == .mapFull { file.reap() }
        file.gate.leaveWriter()
    }

    @usableFromInline
    @unsafe func commit(_ file: EnvironmentFile, _ handle: OpaquePointer) throws(LMDBError) {
        let number = UInt64(unsafe mdb_txn_id(handle))
        do throws(LMDBError) {
            try file.prepareCommit(number, isPending: usesJournal)
        } catch {
            unsafe abortWrite(file, handle, after: nil)
            throw error
        }
        defer { file.gate.leaveWriter() }
        // LMDB frees the handle even when the commit fails.
        let result = unsafe usesJournal ? file.commitUnsynced(handle) : mdb_txn_commit(handle)
        guard result == 0 else {
            file.noteInDoubt()
            file.pages.unmark(number)
            if result == MDB_MAP_FULL { file.reap() }
            throw failure(result, "commit")
        }
        switch configuration.durability {
        case .durable: try finish(number, file)
        case .relaxed: file.writeCheck.leaveNote(of: number)
        // Once, at the end.
        case .deferred: break
        }
        file.coverLastPage()
        if configuration.durability == .deferred { file.syncIfGrown() }
        if configuration.accountsForCommits {
            try file.writeCheck.requireAccount(of: number, leavesNote: configuration.durability != .deferred)
        }
    }

    private var usesJournal: Bool { configuration.durability == .durable }

    /// Makes a commit safe against power loss.
    private func finish(_ number: UInt64, _ file: EnvironmentFile) throws(LMDBError) {
        // A transaction that changed nothing is no commit.
        guard file.pendingCommit == number else { return file.pages.unmark(number) }
        do throws(LMDBError) {
            try file.makeSafe(number)
        } catch {
            file.noteInDoubt()
            // What is in the file now may be either commit, whichever step failed.
            failures.add(1, ordering: .acquiringAndReleasing)
            // Tried again before the next transaction.
            try? file.takeBackFailed()
            throw error
        }
    }

    /// Whether what kept a transaction from beginning is gone, so that it can be tried again.
    private func isMended(_ file: EnvironmentFile, _ result: Int32) throws(LMDBError) -> Bool {
        switch result {
        case MDB_MAP_RESIZED: file.remap()
        case MDB_PANIC: try reopen(file)
        default: false
        }
    }

    /// The file on which new transactions begin.
    func openFile(_ operation: String) throws(LMDBError) -> EnvironmentFile {
        guard let file else { throw closedError(operation) }
        return file
    }

    /// Tells a file that was closed, which is an error, from one that was replaced.
    func checkIsOpen(_ file: EnvironmentFile, _ operation: String) throws(LMDBError) {
        if self.file === file { throw closedError(operation) }
    }

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
