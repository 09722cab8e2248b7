import CTraylogLMDB
import TraylogPlatform

extension Environment {
    /// Opens a new, empty environment with the same databases, to be filled and to take the place of this one.
    ///
    /// It has its own directory within the store's. Commits to it are not synced: ``sync()`` does that, and now
    /// and then spares the replacement the work. Closing it takes its files away, and so does the next opening of the store
    /// for writing, if this process is killed.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen`` when there is one already.
    package func openSuccessor() throws(LMDBError) -> Environment {
        try checkProcess("rewrite")
        guard access == .readWrite else {
            throw LMDBError(
                .readOnly, operation: "rewrite", path: directory,
                message: "The store was opened for reading: open it with access to write.")
        }
        let store = StoreDirectory(path: directory)
        let (successor, claim) = try store.addEnvironment()
        do throws(LMDBError) {
            var configuration = configuration
            configuration.durability = .deferred
            let mapped = try MappedStore(
                successor, access: .readWrite, databases: databaseNames, configuration: configuration)
            let file = try Self.own(mapped, successor)
            let environment = Environment(
                OpenedEnvironment(file: file, openLock: nil, lease: nil, claim: claim), directory: successor.path,
                access: .readWrite, databases: databaseNames, configuration: configuration, temporary: successor)
            try store.adopt(successor)
            guard file.databases == databases else {
                throw LMDBError(
                    .missingDatabase, operation: "rewrite", path: successor.path,
                    message: "The new file numbers its databases in another way: this is a fault of the program.")
            }
            return environment
        } catch {
            store.remove(successor)
            claim.release()
            throw error
        }
    }

    /// Lets a successor that was filled take the place of this environment's files, and goes on with it.
    ///
    /// Transactions that are under way end on the old files; new ones begin on the new ones, in this process at once, in
    /// others with their next transaction. The successor belongs to this environment then, and counts as closed itself.
    /// Killed at any moment, it leaves the old store or the new one, whole. ``finishReplacement(onStep:)`` makes the new
    /// one safe against power loss; every write begins with that.
    ///
    /// - Parameters:
    ///   - successor: from ``openSuccessor()`` of this environment, without a transaction under way.
    ///   - waitingMilliseconds: how long to wait for a process that is opening the store.
    ///   - beforeRename: runs in the writer's turn: the last chance to bring the successor up to date, because nothing is
    ///     written to the old files afterwards. What it throws ends the replacement, and nothing has happened.
    ///   - exchange: runs its argument, which lets new transactions of this process begin on the new files: the place to
    ///     change together with them what memory says of them. Not called when the old files stay.
    ///   - onStep: for tests; what it throws counts as a failure of the step that comes next.
    /// - Throws: ``LMDBError/Code/openLocked`` when a process that opens the store is in the way, and what keeps files from
    ///   being written; the old files then stay the store's.
    package func replace(
        by successor: Environment, waitingMilliseconds: Int = 100, beforeRename: () throws -> Void = {},
        exchange: (() -> Void) -> Void = { $0() }, onStep: (ReplacementStep) throws -> Void = { _ in }
    ) throws {
        try checkProcess("replace")
        let new = try successor.openFile("replace")
        precondition(new.directory.store == directory, "The successor of another store.")
        // What does not have to hold up the writer.
        try successor.sync()
        let retirement = try Retirement(of: directory)
        guard beginSuccession() else { throw closedError("replace") }
        defer { endSuccession() }
        let old = try enterWriter("replace")
        defer { old.gate.leaveWriter() }
        try old.finishReplacement()
        try beforeRename()
        try new.finishFilling(durability: configuration.durability)
        let store = StoreDirectory(path: directory)
        try store.writeNext(new.directory, like: old.directory)
        try onStep(.synced)
        try withOpenLock(waitingMilliseconds) {
            try old.pages.setBeingReplaced(true)
            do {
                try onStep(.noted)
                try store.switchToNext()
            } catch {
                // With the mark the store is sound as well; readers only have to look more often.
                try? old.pages.setBeingReplaced(false)
                throw error
            }
        }
        new.predecessor.withLock { $0 = old.directory }
        // Nobody is answered from what a power cut could take. Where it fails, writes wait until it succeeds.
        try? store.syncNames()
        successor.handOver()
        successor.close()
        exchange { go(on: new, retirement) }
        try? onStep(.renamed)
    }

    /// Makes a replacement safe against power loss, and takes the files of before away; does nothing without one.
    ///
    /// The space of the old files is free when the last process has left them.
    ///
    /// - Parameter onStep: for tests; what it throws counts as a failure of the step that comes next.
    /// - Throws: what keeps the names from being synced. A power cut could bring the old files back, so nothing is
    ///   written before that succeeds.
    package func finishReplacement(
        onStep: (ReplacementStep) throws(LMDBError) -> Void = { _ in }
    ) throws(LMDBError) {
        try checkProcess("replace")
        try openFile("replace").finishReplacement(onStep: onStep)
    }

    /// Makes sure that no file is left of what the store was before its replacements, safe against power loss.
    ///
    /// Only while no successor is being filled.
    ///
    /// - Throws: what kept a file from being removed; the message says which one.
    package func removeFormerFiles() throws(LMDBError) {
        try finishReplacement()
        let current = try openFile("remove").directory
        do throws(LMDBError) {
            try StoreDirectory(path: directory).removeOthers(than: current)
        } catch {
            throw LMDBError(
                error.code, operation: "remove", path: error.path,
                message:
                    "A file of what the store was before is still there: \(error.message) Remove it, or open the store again, "
                    + "which tries once more.")
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

    /// A step of a replacement, for tests that end it there.
    package enum ReplacementStep: String, CaseIterable, Sendable {
        /// The successor is on disk, and so is the file that will name it.
        case synced
        /// The old file says that it is being replaced.
        case noted
        /// The successor is the store's.
        case renamed
        /// That is on disk.
        case namesSynced
        /// The files of before are gone.
        case removed
    }

    /// One file at a time takes the place of another, and none when the environment closes.
    struct Succession {
        var isUnderWay = false
        var isClosing = false
        var isClosed = false
        /// Files that were replaced, and have transactions.
        var retired: [EnvironmentFile] = []
    }

    /// Waits for a succession that another thread makes.
    ///
    /// - Returns: false when the environment closes; else the caller ends it with ``endSuccession()``.
    func beginSuccession() -> Bool {
        let hasBegun = succession.wait(timeoutMilliseconds: nil, until: { !$0.isUnderWay }) { state in
            state.isUnderWay = !state.isClosing
            return state.isUnderWay
        }
        return hasBegun ?? false
    }

    func endSuccession() {
        succession.withLock { $0.isUnderWay = false }
        succession.signalAll()
    }

    /// - Returns: whether the caller has to close; false, when another one did, only after that.
    func beginClosing() -> Bool {
        let isFirst = succession.wait(
            timeoutMilliseconds: nil, until: { !$0.isUnderWay && (!$0.isClosing || $0.isClosed) }
        ) { state in
            precondition(
                !state.retired.contains { $0.gate.holdsThisThread() },
                "A store cannot be closed inside one of its transactions.")
            if state.isClosing { return false }
            state.isClosing = true
            return true
        }
        return isFirst ?? false
    }

    func finishClosing() {
        succession.withLock { $0.isClosed = true }
        succession.signalAll()
    }

    /// Makes it as if it had been closed: its file belongs to its predecessor now.
    func handOver() {
        go(on: nil, nil)
    }

    /// Lets nothing begin on a file any more, and closes it in the background: unmapping gigabytes takes a while.
    func retire(_ old: EnvironmentFile, _ retirement: Retirement) {
        old.gate.retire()
        let succession = succession
        succession.withLock { $0.retired.append(old) }
        retirement.begin {
            old.gate.finishRetirement()
            // No other process opens this lock file any more, so the lock for opening is not needed.
            old.closeReplaced()
            old.gate.finishClosing()
            succession.withLock { $0.retired.removeAll { $0 === old } }
            succession.signalAll()
        }
    }

    /// The thread that will close a file that is replaced: started before the replacement, so that the system can refuse it
    /// while nothing has happened yet.
    final class Retirement: Sendable {
        private enum Order {
            case wait
            case run(@Sendable () -> Void)
            case end
        }

        private let order: Monitor<Order>

        init(of directory: String) throws(LMDBError) {
            let order = Monitor(Order.wait)
            self.order = order
            do {
                _ = try OSThread.start(name: "traylog-retire") {
                    let given = order.wait(
                        timeoutMilliseconds: nil, until: { if case .wait = $0 { false } else { true } }
                    ) {
                        order in
                        defer { order = .end }
                        return order
                    }
                    if case .run(let work)? = given { work() }
                }
            } catch {
                throw LMDBError(error, operation: "replace", path: directory)
            }
        }

        deinit { give(.end) }

        func begin(_ work: @escaping @Sendable () -> Void) { give(.run(work)) }

        private func give(_ new: Order) {
            order.withLock { order in if case .wait = order { order = new } }
            order.signalAll()
        }
    }

    func waitForRetired() {
        for file in succession.withLock({ $0.retired }) { file.gate.disregardPins() }
        _ = succession.wait(timeoutMilliseconds: nil, until: { $0.retired.isEmpty }) { _ in }
    }

    /// Goes on with the environment that has taken the place of `old`, if one has; a millisecond.
    ///
    /// Transactions of `old` go on, this thread's too, and nobody waits for them.
    ///
    /// - Returns: whether to begin again; false when `old` is still the store's, or when the environment closes.
    /// - Throws: what keeps the new one from being found and opened.
    func follow(_ old: EnvironmentFile) throws(LMDBError) -> Bool {
        let store = StoreDirectory(path: directory)
        guard try store.current() != old.directory else { return false }
        guard beginSuccession() else { return false }
        defer { endSuccession() }
        // Another thread may have been faster.
        guard file === old else { return true }
        let retirement = try Retirement(of: directory)
        try openLock?.acquire()
        defer { openLock?.release() }
        let new = try Self.map(
            store.environmentToRead(), access: access, usesLocks: usesLocks, databases: databaseNames,
            configuration: configuration)
        new.reap()
        go(on: new, retirement)
        return true
    }
}

extension EnvironmentFile {
    /// The same as ``Environment/finishReplacement(onStep:)``; some 20 ns when there is nothing to do.
    func finishReplacement(
        onStep: (Environment.ReplacementStep) throws(LMDBError) -> Void = { _ in }
    ) throws(LMDBError) {
        try predecessor.withLock { (predecessor) throws(LMDBError) in
            guard let old = predecessor else { return }
            let store = StoreDirectory(path: old.store)
            try store.syncNames()
            try onStep(.namesSynced)
            predecessor = nil
            store.remove(old)
            try onStep(.removed)
        }
    }

    /// Makes all commits safe against power loss, and later ones as it is configured.
    fileprivate func finishFilling(durability: Environment.Durability) throws(LMDBError) {
        let path = directory.path
        if isLost { throw LMDBError(result: MDB_PANIC, operation: "sync", path: path) }
        unsafe mdb_env_set_flags(handle, Environment.Durability.deferred.flags, 0)
        unsafe mdb_env_set_flags(handle, durability.flags, 1)
        coverLastPage()
        writeCheck.leaveNote(of: UInt64(mapState().lastTransaction))
        let result = unsafe mdb_env_sync(handle, 1)
        if result != 0 {
            throw LMDBError(result: result, operation: "sync", path: path, file: dataFile)
        }
    }
}
