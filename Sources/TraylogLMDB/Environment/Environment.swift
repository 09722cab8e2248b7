import CTraylogLMDB
import Synchronization
import TraylogPlatform

/// An open store directory: one data file, its map, and the locks that keep processes apart.
///
/// A process opens a directory at most once. Any number of processes may read it; one may write it, and holds the
/// writer lease as long as its environment is open. Other files may take the place of those that were opened
/// (``replace(by:waitingMilliseconds:beforeRename:exchange:onStep:)``); an environment then goes on with those, in every
/// process.
///
/// ```swift
/// let environment = try Environment.open(directory: path, access: .readWrite, databases: ["log"])
/// let log = environment.database("log")
/// try environment.write { try $0.append(log, 1, record.span.bytes) }
/// let size = try environment.read { try $0.get(log, 1) { $0.byteCount } }
/// ```
@usableFromInline package final class Environment: Sendable {
    package let directory: String
    package let access: Access
    package let configuration: Configuration
    /// The number of forks when it was opened; another number means that this is a child of that process.
    @usableFromInline let forkCount: UInt32
    /// In the order in which they were opened.
    let databaseNames: [String]
    let databases: [String: Database]
    /// The file on which new transactions begin; nil for a successor that took its predecessor's place.
    private let current: Monitor<EnvironmentFile?>
    let succession = Monitor(Succession())
    /// How often a commit failed after it was in the file, or the file had to be opened anew.
    let failures = Atomic(0)
    /// Nil for a successor, which no other process opens, and without locks.
    let openLock: OpenLock?
    /// Whether other processes know of this one: false for a reader that may not write the lock files.
    ///
    /// No writer keeps pages for such a reader. Each of its reads is checked afterwards, and fails with
    /// ``LMDBError/Code/overtaken`` when its pages may have been written over (record 0012).
    @usableFromInline let usesLocks: Bool
    /// The directory that was opened; nil for a successor.
    package let identity: FileIdentity?
    /// The file that names the data file, for the look at the place before each transaction.
    let currentPath: String
    /// When a read last made sure of the place, by the monotonic clock.
    let placeCheckedAt = Atomic<Int64>(-1_000_000_000)
    private let lease: WriterLease?
    /// Tells this directory from all others, copies of it among them, as long as nobody removes its `writer.lock`; never 0.
    ///
    /// Nil for an environment that was opened for reading, and for a successor.
    package let place: UInt64?
    private let claim: EnvironmentRegistry.Claim
    /// The files to take away at the end, of a successor.
    private let temporary: EnvironmentDirectory?

    /// Reader slots of the store; the first process to open it decides, so all must agree.
    package static let maximumReaders = 1024

    init(
        _ opened: OpenedEnvironment, directory: String, access: Access, databases: [String],
        configuration: Configuration, identity: FileIdentity? = nil, temporary: EnvironmentDirectory? = nil
    ) {
        self.identity = identity
        self.directory = directory
        currentPath = StoreDirectory(path: directory).currentPath
        self.access = access
        self.configuration = configuration
        self.temporary = temporary
        forkCount = ForkGuard.forkCount
        databaseNames = databases
        self.databases = opened.file.databases
        current = Monitor(opened.file)
        openLock = opened.openLock
        usesLocks = opened.usesLocks
        lease = opened.lease
        place = opened.place
        claim = opened.claim
    }

    deinit {
        close()
    }

    /// The file on which new transactions begin; nil when there is none any more.
    var file: EnvironmentFile? { current.withLock { $0 } }

    /// Lets new transactions begin on another file, and closes the old one when its last transaction has ended.
    ///
    /// - Parameter retirement: closes the old one; nil where nothing takes its place.
    func go(on file: EnvironmentFile?, _ retirement: Retirement?) {
        let old = current.withLock { current in
            let old = current
            current = file
            return old
        }
        if let old, let retirement { retire(old, retirement) }
    }

    /// A database that was named when the environment was opened.
    package func database(_ name: String) -> Database {
        guard let database = databases[name] else {
            preconditionFailure("The environment was opened without a database \"\(name)\".")
        }
        return database
    }

    /// Ends all use of the store and gives up its locks.
    ///
    /// It waits for the transactions of other threads. Called inside a transaction of its own thread it takes effect
    /// when the last transaction ends. Later calls on the environment throw ``LMDBError/Code/closed``; another
    /// `close` does nothing. In a child of `fork` it does nothing either, because the locks are the parent's.
    package func close() {
        guard forkCount == ForkGuard.forkCount, beginClosing() else { return }
        let last = file
        if let last {
            _ = last.gate.beginClosing()
            last.close(openLock)
            if let temporary { StoreDirectory(path: temporary.store).remove(temporary) }
        }
        waitForRetired()
        openLock?.close()
        lease?.release()
        claim.release()
        last?.gate.finishClosing()
        finishClosing()
    }

    /// The error for a return code of LMDB on this environment.
    func failure(_ result: Int32, _ operation: String) -> LMDBError {
        LMDBError(result: result, operation: operation, path: directory, file: file?.dataFile)
    }

    func closedError(_ operation: String) -> LMDBError {
        .closed(operation, directory)
    }

    /// Whether this process got it by `fork`: threads, locks and reader slots are the parent's.
    package var isInherited: Bool { forkCount != ForkGuard.forkCount }

    /// Refuses an environment that was inherited by `fork`.
    @inlinable
    package func checkProcess(_ operation: String) throws(LMDBError) {
        if forkCount != ForkGuard.forkCount { throw wrongProcess(operation) }
    }

    @usableFromInline
    func wrongProcess(_ operation: String) -> LMDBError {
        LMDBError(
            .wrongProcess, operation: operation, path: directory,
            message:
                "The store was opened before a fork, and belongs to the parent process: open it again in the child.")
    }
}

extension Environment {
    /// The rights of an environment: reading, or writing too.
    package enum Access: Hashable, Sendable {
        /// Read and write; one environment on the machine.
        case readWrite
        /// Read; where the lock files cannot be written, without locks (``Environment/usesLocks``).
        case readOnly
    }

    /// The moment from which a commit is safe against power loss.
    package enum Durability: Hashable, Sendable {
        /// When `write` returns.
        case durable
        /// At the next commit or ``Environment/sync()``: power loss may take the last commit, never more or part of it.
        case relaxed
        /// At ``Environment/sync()`` only, and before it power loss may damage the file: for one that is being filled,
        /// and that nobody relies on yet. What was written is synced every few megabytes, because a file system may let
        /// the sync of another file wait for it.
        case deferred
    }

    /// The options with which an environment is opened.
    package struct Configuration: Hashable, Sendable {
        /// The size to which the file may grow; address space only.
        ///
        /// All processes should use the same.
        package var mapSizeBytes: Int = 64 << 30
        package var durability: Durability = .durable
        /// Whether a missing directory (0700) and data file (0600) are created; for ``Access/readWrite`` only.
        package var creates = true
        /// The size at which the journal begins anew, at most 2 MiB.
        package var journalBytes = 2 << 20
        /// For tests: whether account is taken of all pages after each commit, and the process ends at the first finding.
        package var accountsForCommits = false

        package init(
            mapSizeBytes: Int = 64 << 30, durability: Durability = .durable, creates: Bool = true
        ) {
            self.mapSizeBytes = mapSizeBytes
            self.durability = durability
            self.creates = creates
        }
    }

    /// Read transactions that ever began on the file; for tests, which count them.
    package var begunReads: Int { file?.gate.reads ?? 0 }

    /// Makes the last commit of a ``Durability/relaxed`` environment safe against power loss.
    ///
    /// - Throws: ``LMDBError/Code/diskFull`` or ``LMDBError/Code/system(_:)``; nothing more can be trusted to be on
    ///   disk then, so close the store and verify it.
    package func sync() throws(LMDBError) {
        try use("sync") { (file) throws(LMDBError) in
            try file.finishReplacement()
            let result = unsafe mdb_env_sync(file.handle, 1)
            if result != 0 { throw failure(result, "sync") }
        }
    }

    /// Runs `body` with the newest file, kept from closing and from being remapped.
    func use<R>(_ operation: String, _ body: (EnvironmentFile) throws(LMDBError) -> R) throws(LMDBError) -> R {
        try checkProcess(operation)
        // It sees whether there is a newer file. Without a free reader slot it must do with the file that it has.
        if access == .readOnly, let reading = try? beginRead() { endRead(reading) }
        while true {
            let file = try openFile(operation)
            guard let entered = file.gate.enter() else {
                try checkIsOpen(file, operation)
                continue
            }
            defer { _ = file.gate.leave(entered.index, keeping: entered.handle) }
            if file.isLost { throw failure(MDB_PANIC, operation) }
            return try body(file)
        }
    }

    /// Makes sure that the store is where it was opened.
    ///
    /// Files that lost their names can be read and written as before, and are gone with the process. So the writer looks
    /// before each transaction: three calls of the system, about two microseconds.
    ///
    /// - Throws: ``LMDBError/Code/notFound`` when the directory or the data file was removed or replaced.
    package func checkPlace() throws(LMDBError) {
        guard let identity else { return }
        var isThere = true
        do throws(SystemError) {
            isThere = try FileStatus(path: directory).identity == identity
            _ = try FileStatus(path: currentPath)
        } catch {
            // Other errors say nothing about the place: the rights of a parent directory may have changed.
            if error == .noEntry || error == .notDirectory { isThere = false }
        }
        guard isThere else { throw lostPlace() }
        // A reader's file may have been replaced a moment ago, which it finds out by itself.
        guard access == .readWrite, let file, file.dataFile.nameCount == 0, file === self.file else { return }
        throw lostPlace()
    }

    /// The same at most once a second, for reads.
    func checkPlaceNowAndThen() throws(LMDBError) {
        let now = SystemClock.monotonicNanoseconds()
        guard now - placeCheckedAt.load(ordering: .relaxed) >= 1_000_000_000 else { return }
        try checkPlace()
        placeCheckedAt.store(now, ordering: .relaxed)
    }

    private func lostPlace() -> LMDBError {
        LMDBError(
            .notFound, operation: "find", path: directory,
            message:
                "The store was removed, moved or replaced while it was open, and what is written now would be lost: close "
                + "it, and open it where it is, or restore a backup.")
    }
}

extension Environment.Durability {
    /// The flags for LMDB.
    var flags: UInt32 {
        switch self {
        case .durable: 0
        case .relaxed: UInt32(MDB_NOMETASYNC)
        case .deferred: UInt32(MDB_NOSYNC)
        }
    }
}
