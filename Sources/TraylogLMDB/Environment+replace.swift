import CTraylogLMDB
import TraylogPages
import TraylogPlatform

extension Environment {
    /// Opens a new, empty environment with the same databases, to be filled and to take the place of this one.
    ///
    /// It is in the directory `rewrite` of the store. Commits to it are not synced: ``sync()`` does that, and now and
    /// then spares ``replace(by:waitingMilliseconds:beforeRename:exchange:onStep:)`` the work. Closing it takes its files away, and so does the next
    /// opening of the store for writing, if this process is killed.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen`` when there is one already.
    package func openSuccessor() throws(LMDBError) -> Environment {
        try checkProcess("rewrite")
        guard access == .readWrite else {
            throw LMDBError(
                .readOnly, operation: "rewrite", path: directory,
                message: "The store was opened for reading: open it with access to write.")
        }
        let rewrite = RewriteDirectory(directory: directory)
        let claim = try rewrite.prepare()
        do throws(LMDBError) {
            let location = StoreLocation(directory: rewrite.path)
            var configuration = configuration
            configuration.durability = .deferred
            let mapped = try MappedStore(
                location, access: .readWrite, databases: databaseNames, configuration: configuration)
            let file = try Self.own(mapped, location)
            let successor = Environment(
                OpenedEnvironment(file: file, openLock: nil, lease: nil, claim: claim), directory: rewrite.path,
                access: .readWrite, databases: databaseNames, configuration: configuration, temporary: rewrite)
            try rewrite.adopt()
            guard file.databases == databases else {
                throw LMDBError(
                    .missingDatabase, operation: "rewrite", path: rewrite.path,
                    message: "The new file numbers its databases in another way: this is a fault of the program.")
            }
            return successor
        } catch {
            rewrite.remove()
            claim.release()
            throw error
        }
    }

    /// Lets a successor that was filled take the place of the data file, and goes on with it.
    ///
    /// Transactions that are under way end on the old file; new ones begin on the new one, in this process at once, in
    /// others with their next transaction. The successor belongs to this environment then, and counts as closed itself.
    /// The old file's space is free when the last process has left it. Killed at any moment, it leaves the old store
    /// or the new one, whole.
    ///
    /// - Parameters:
    ///   - successor: from ``openSuccessor()`` of this environment, without a transaction under way.
    ///   - waitingMilliseconds: how long to wait for a process that is opening the store.
    ///   - beforeRename: runs in the writer's turn: the last chance to bring the successor up to date, because nothing is
    ///     written to the old file afterwards. What it throws ends the replacement, and nothing has happened.
    ///   - exchange: runs its argument, which lets new transactions of this process begin on the new file: the place to
    ///     change together with the file what memory says of it. Not called when the old file stays.
    ///   - onStep: for tests; what it throws counts as a failure of the step that comes next.
    /// - Throws: ``LMDBError/Code/openLocked`` when a process that opens the store is in the way, and what keeps files from
    ///   being written; the old file then stays. ``LMDBError/Code/panic``: the new names may not be on disk, so nothing is
    ///   written any more until the store was closed and opened again.
    package func replace(
        by successor: Environment, waitingMilliseconds: Int = 100, beforeRename: () throws -> Void = {},
        exchange: (() -> Void) -> Void = { $0() }, onStep: (ReplacementStep) throws -> Void = { _ in }
    ) throws {
        try checkProcess("replace")
        precondition(successor.directory == directory + "/rewrite", "The successor of another store.")
        // What does not have to hold up the writer.
        try successor.sync()
        guard beginSuccession() else { throw closedError("replace") }
        defer { endSuccession() }
        try makeRoomForMark()
        let old = try enterWriter("replace")
        defer { old.gate.leaveWriter() }
        try beforeRename()
        try successor.file?.finishFilling(durability: configuration.durability, path: successor.directory)
        try onStep(.synced)
        try withOpenLock(waitingMilliseconds) { try rename(old, successor, exchange, onStep: onStep) }
    }

    /// Marks the old file, exchanges the names, and goes on with the new file.
    private func rename(
        _ old: EnvironmentFile, _ successor: Environment, _ exchange: (() -> Void) -> Void,
        onStep: (ReplacementStep) throws -> Void
    ) throws {
        let rewrite = RewriteDirectory(directory: directory)
        let new = try successor.openFile("replace")
        do {
            try mark(old)
            try onStep(.marked)
            try rewrite.renameLock()
        } catch {
            // With the mark the store is sound as well; readers only have to look more often.
            _ = old.mark(false)
            throw error
        }
        do {
            try onStep(.lockRenamed)
            try rewrite.renameData()
        } catch {
            // The old data file has a lock file now that its readers do not know: nobody may write it any more.
            old.isAbandoned.store(true, ordering: .releasing)
            throw error
        }
        successor.handOver()
        successor.close()
        new.pages.move(to: StoreLocation(directory: directory).dataPath)
        defer { exchange { go(on: new) } }
        do {
            try onStep(.dataRenamed)
            try rewrite.syncNames()
            try onStep(.namesSynced)
        } catch {
            // A power cut could bring the old file back, and what was written to the new one would be lost.
            new.isAbandoned.store(true, ordering: .releasing)
            throw error
        }
        rewrite.remove()
        try? onStep(.removed)
    }

    /// Commits the mark.
    private func mark(_ old: EnvironmentFile) throws(LMDBError) {
        let result = old.mark(true)
        if result != 0 { throw failure(result, "replace") }
        old.prepareGrowth()
    }

    /// Enlarges a map that is full, which the replacement may be the cure for.
    private func makeRoomForMark() throws(LMDBError) {
        let pages = 64
        let (file, state) = try use("replace") { ($0, $0.mapState()) }
        guard (state.lastPage + pages) * file.pageSizeBytes > state.sizeBytes else { return }
        if !file.resizeMap(to: state.sizeBytes + pages * file.pageSizeBytes) {
            throw failure(MDB_MAP_RESIZED, "replace")
        }
    }

    /// Keeps other processes from opening the store meanwhile.
    private func withOpenLock(_ milliseconds: Int, _ body: () throws -> Void) throws {
        guard openLock?.tryAcquire(milliseconds: max(milliseconds, 1)) != false else {
            throw OpenLock.failure(path: directory)
        }
        defer { openLock?.release() }
        try body()
    }
}

extension EnvironmentFile {
    /// Makes all commits safe against power loss, and later ones as it is configured.
    fileprivate func finishFilling(durability: Environment.Durability, path: String) throws(LMDBError) {
        if isLost { throw LMDBError(result: MDB_PANIC, operation: "sync", path: path) }
        unsafe mdb_env_set_flags(handle, Environment.Durability.deferred.flags, 0)
        unsafe mdb_env_set_flags(handle, durability.flags, 1)
        prepareGrowth()
        let result = unsafe mdb_env_sync(handle, 1)
        if result != 0 {
            throw LMDBError(result: result, operation: "sync", path: path, file: dataFile)
        }
    }
}

extension Environment.Durability {
    /// What LMDB is told.
    var flags: UInt32 {
        switch self {
        case .durable: 0
        case .relaxed: UInt32(MDB_NOMETASYNC)
        case .deferred: UInt32(MDB_NOSYNC)
        }
    }
}
