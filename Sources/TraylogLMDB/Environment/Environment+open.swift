import CTraylogLMDB
import TraylogPlatform

extension Environment {
    /// Opens the store in `directory`.
    ///
    /// A read-only opening of a missing store creates nothing. The data file is examined before it is mapped. About
    /// a millisecond, plus an fsync when the file is created.
    ///
    /// - Parameters:
    ///   - databases: the names of all databases that will be used; with ``Access/readWrite`` missing ones are created.
    /// - Throws: ``LMDBError``; ``LMDBError/Code/writerLocked`` and ``LMDBError/Code/alreadyOpen`` say who is in the
    ///   way, ``LMDBError/Code/notFound`` that there is no store.
    package static func open(
        directory: String, access: Access, databases: [String], configuration: Configuration = .init()
    ) throws(LMDBError) -> Environment {
        try LMDBError.attempt("open", directory, ForkGuard.install())
        try LMDBError.attempt("open", directory, SystemRandom.requireSource())
        try checkLibrary()
        let directory = try resolve(directory)
        let store = StoreDirectory(path: directory)
        try store.prepare(access: access, configuration: configuration)
        let claim = try store.claim()
        do throws(LMDBError) {
            let opened = try openClaimed(
                store, claim: claim, access: access, databases: databases, configuration: configuration)
            opened.file.reap()
            return Environment(
                opened, directory: directory, access: access, databases: databases, configuration: configuration,
                identity: opened.claim.directory)
        } catch {
            claim.release()
            throw error
        }
    }

    /// The one path of a directory, whatever way it is spelled, which stays right when the process changes its directory.
    ///
    /// The last part of the path need not exist.
    ///
    /// - Throws: ``LMDBError/Code/notFound`` for an empty path; ``LMDBError/Code/unusableTarget`` for one with a NUL character.
    package static func resolve(_ directory: String) throws(LMDBError) -> String {
        guard !directory.isEmpty else {
            throw LMDBError(
                .notFound, operation: "open",
                message: "The name of the store's directory is empty: give its path.")
        }
        if directory.utf8.contains(0) { throw .system(.invalidArgument, operation: "open", path: directory) }
        return Files.absolutePath(of: directory)
    }

    /// The names of the data file and of the journal, in the directory of an environment.
    package static let (dataName, journalName) = ("data.mdb", "journal")

    /// The data file of the store in `directory` and the journal beside it, for reading them without LMDB.
    package static func paths(of directory: String) throws(LMDBError) -> (data: String, journal: String) {
        let environment = try StoreDirectory(path: resolve(directory)).environment()
        return (environment.dataPath, environment.journalPath)
    }

    /// - Throws: ``LMDBError/Code/unsupportedLibrary`` unless liblmdb is of the 0.9 series.
    static func checkLibrary() throws(LMDBError) {
        var major: Int32 = 0
        var minor: Int32 = 0
        var patch: Int32 = 0
        unsafe _ = mdb_version(&major, &minor, &patch)
        guard major == 0, minor == 9 else {
            throw LMDBError(
                .unsupportedLibrary, operation: "open",
                message:
                    "liblmdb \(major).\(minor).\(patch) is installed, whose files 0.9 cannot read: install liblmdb "
                    + "0.9.")
        }
    }

    private static func openClaimed(
        _ store: StoreDirectory, claim: EnvironmentRegistry.Claim, access: Access, databases: [String],
        configuration: Configuration
    ) throws(LMDBError) -> OpenedEnvironment {
        let owner = store.dataStatus
        let lease = access == .readWrite ? try WriterLease(directory: store.path, owner: owner) : nil
        // Somebody who only asks makes no lock file in a directory that is no store.
        if lease == nil, !OpenLock.exists(in: store.path) { try examine(store.environment()) }
        do throws(LMDBError) {
            let openLock =
                lease == nil
                ? try openLockToRead(store, owner: owner) : try OpenLock(directory: store.path, owner: owner)
            do throws(LMDBError) {
                try openLock?.acquire()
                defer { openLock?.release() }
                let directory =
                    lease == nil
                    ? try store.environmentToRead()
                    : try store.takeOver(creates: configuration.creates) { (directory) throws(LMDBError) in
                        try create(directory, databases: databases, configuration: configuration)
                    }
                let file = try map(
                    directory, access: access, usesLocks: openLock != nil, databases: databases,
                    configuration: configuration)
                do throws(LMDBError) {
                    let place = try lease?.sign()
                    return OpenedEnvironment(
                        file: file, openLock: openLock, usesLocks: openLock != nil, lease: lease, claim: claim,
                        place: place)
                } catch {
                    file.close(nil)
                    throw error
                }
            } catch {
                openLock?.close()
                throw error
            }
        } catch {
            lease?.release()
            throw error
        }
    }

    /// The lock for opening of a reader; nil for one that may not write both lock files, and reads without locks.
    private static func openLockToRead(_ store: StoreDirectory, owner: FileStatus?) throws(LMDBError) -> OpenLock? {
        let environment = try store.environment()
        let lock = Files.exists(environment.lockPath) ? environment.lockPath : environment.path
        guard Files.isAccessible(lock, isWriting: true) else { return nil }
        do throws(LMDBError) {
            return try OpenLock(directory: store.path, owner: owner)
        } catch  where error.code == .permissionDenied {
            return nil
        }
    }

    /// Looks at a data file before anything is made beside it; one that has a journal may need that to make sense.
    private static func examine(_ directory: EnvironmentDirectory) throws(LMDBError) {
        if !Files.exists(directory.journalPath) { try Preflight.examine(path: directory.dataPath) }
    }

    /// Lets LMDB make the files of an environment, and the databases in them.
    private static func create(
        _ directory: EnvironmentDirectory, databases: [String], configuration: Configuration
    ) throws(LMDBError) {
        let mapped = try MappedStore(
            directory, access: .readWrite, databases: databases, configuration: configuration)
        unsafe mdb_env_close(mapped.handle)
    }

    /// Opens an environment whose files were looked at before.
    ///
    /// The caller holds the lock for opening.
    static func map(
        _ directory: EnvironmentDirectory, access: Access, usesLocks: Bool, databases: [String],
        configuration: Configuration
    ) throws(LMDBError) -> EnvironmentFile {
        let readers = ReaderTable(path: directory.lockPath)
        let isWriter = access == .readWrite
        // Whether a commit may be under way is asked of the lock file.
        if !usesLocks, Files.exists(directory.lockPath), !Files.isAccessible(directory.lockPath, isWriting: false) {
            throw .system(.accessDenied, operation: "open", path: directory.lockPath)
        }
        // Before the file is compared with its header.
        let confirmed = try JournalReplay.run(
            directory.dataPath, journal: directory.journalPath, readers: readers, isWriter: isWriter)
        try Preflight.examine(path: directory.dataPath)
        try RenumberedCommit.settle(directory.dataPath, readers: readers, isWriter: isWriter)
        let mapped = try MappedStore(
            directory, access: access, usesLocks: usesLocks, databases: databases, configuration: configuration)
        mapped.pages.confirm(confirmed)
        let file = try own(mapped, directory)
        // Whoever set it was killed before the replacement.
        if isWriter, mapped.pages.isBeingReplaced {
            do throws(LMDBError) {
                try mapped.pages.setBeingReplaced(false)
            } catch {
                file.close(nil)
                throw error
            }
        }
        return file
    }

    /// Claims what LMDB has opened, or closes it again.
    static func own(_ mapped: MappedStore, _ directory: EnvironmentDirectory) throws(LMDBError) -> EnvironmentFile {
        guard let data = try? mapped.dataFile.status().identity, let claim = EnvironmentRegistry.claim([data]) else {
            unsafe mdb_env_close(mapped.handle)
            throw StoreDirectory.alreadyOpen(directory.store)
        }
        return EnvironmentFile(mapped, directory: directory, claim: claim)
    }
}

/// Everything that opening a store acquires, in the order in which an error gives it back.
struct OpenedEnvironment {
    let file: EnvironmentFile
    let openLock: OpenLock?
    var usesLocks = true
    let lease: WriterLease?
    let claim: EnvironmentRegistry.Claim
    var place: UInt64?
}

/// The stores this process has open.
///
/// Closing any descriptor of LMDB's lock file drops all locks the process has on it, so one process must not open a
/// store twice, whatever path leads to it.
enum EnvironmentRegistry {
    private struct State {
        var open: Set<FileIdentity> = []
        /// A forked child begins with nothing open: what it inherited it cannot use.
        var forkCount: UInt32 = 0
    }

    private static let state = Monitor(State())

    /// The right to open a directory or a data file, until released.
    struct Claim: Sendable {
        fileprivate let identities: [FileIdentity]

        /// The first of what was claimed.
        var directory: FileIdentity? { identities.first }

        func release() {
            EnvironmentRegistry.state.withLock { $0.open.subtract(identities) }
        }
    }

    /// Claims directories or data files; nil when one of them, or `other`, is open.
    static func claim(_ identities: [FileIdentity], unlessOpen other: FileIdentity? = nil) -> Claim? {
        state.withLock { state in
            if state.forkCount != ForkGuard.forkCount {
                state = State(forkCount: ForkGuard.forkCount)
            }
            guard state.open.isDisjoint(with: identities + [other].compactMap { $0 }) else { return nil }
            state.open.formUnion(identities)
            return Claim(identities: identities)
        }
    }
}
