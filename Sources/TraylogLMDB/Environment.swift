import CTraylogLMDB
import Glibc

/// An open store directory: one data file, its map, and the locks that keep processes apart.
///
/// A process opens a directory at most once. Any number of processes may read it; one may write it, and holds the
/// writer lease as long as its environment is open.
///
/// ```swift
/// let environment = try Environment.open(directory: path, access: .readWrite, databases: ["log"])
/// let log = environment.database("log")
/// try environment.write { try $0.append(log, 1, record.span.bytes) }
/// let size = try environment.read { try $0.get(log, 1) { $0.byteCount } }
/// ```
@safe
@usableFromInline package final class Environment: @unchecked Sendable {
    // @unchecked: the fields are constants but for those of an opening, which change only while the gate holds every
    // use back. LMDB's environment may be used by all threads (MDB_NOTLS), and the gate keeps all that before its
    // closing.
    @usableFromInline var handle: OpaquePointer
    package let directory: String
    package let access: Access
    package let configuration: Configuration
    let gate = TransactionGate()
    /// The number of forks when it was opened; another number means that this is a child of that process.
    @usableFromInline let generation: UInt32
    /// The data file as LMDB opened it; closed with the environment.
    var dataDescriptor: Int32
    /// LMDB gave the environment up and could not open it again: there is no ``handle``.
    var isLost = false
    /// How often ``heal()`` had to open the data file anew.
    var reopenings = 0
    let pageSizeBytes: Int
    let databaseNames: [String]
    let databases: [String: Database]
    let openLock: OpenLock
    private let lease: WriterLease?
    private let claim: EnvironmentRegistry.Claim

    /// Reader slots of the store; the first process to open it decides, so all must agree.
    package static let maximumReaders = 1024

    /// The greatest length of a key in bytes; the least is 1.
    package static let maximumKeyBytes = 511

    init(
        _ opened: OpenedEnvironment, directory: String, access: Access, databaseNames: [String],
        configuration: Configuration
    ) {
        unsafe self.handle = opened.handle
        self.directory = directory
        self.access = access
        self.configuration = configuration
        self.generation = ForkGuard.generation
        self.dataDescriptor = opened.dataDescriptor
        self.pageSizeBytes = opened.pageSizeBytes
        self.databaseNames = databaseNames
        self.databases = opened.databases
        self.openLock = opened.openLock
        self.lease = opened.lease
        self.claim = opened.claim
    }

    deinit {
        close()
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
        guard generation == ForkGuard.generation, gate.beginClosing() else { return }
        finishClosing()
    }

    /// Gives everything back; called once, when no transaction is left.
    @usableFromInline
    func finishClosing() {
        gate.takeIdleHandles { unsafe mdb_txn_abort($0.pointer) }
        // Without the lock, libraries from 0.9.26 to 0.9.31 break a process that opens the store right now.
        let isLocked = openLock.tryAcquire()
        if !isLost { unsafe mdb_env_close(handle) }
        if isLocked { openLock.release() }
        openLock.close()
        lease?.release()
        claim.release()
        gate.finishClosing()
    }

    /// The error for a return code of LMDB on this environment.
    @usableFromInline
    func failure(_ result: Int32, _ operation: String) -> LMDBError {
        LMDBError(result: result, operation: operation, path: directory, descriptor: dataDescriptor)
    }

    @usableFromInline
    func closedError(_ operation: String) -> LMDBError {
        LMDBError(
            .closed, operation: operation, path: directory,
            message: "The store was closed: open it again.")
    }

    /// Whether this process got it by `fork`: threads, locks and reader slots are the parent's.
    package var isInherited: Bool { generation != ForkGuard.generation }

    /// Refuses an environment that was inherited by `fork`.
    @inlinable
    package func checkProcess(_ operation: String) throws(LMDBError) {
        if generation != ForkGuard.generation { throw wrongProcess(operation) }
    }

    @usableFromInline
    func wrongProcess(_ operation: String) -> LMDBError {
        LMDBError(
            .wrongProcess, operation: operation, path: directory,
            message:
                "The store was opened before a fork, and belongs to the parent process: open it again in the child.")
    }
}
