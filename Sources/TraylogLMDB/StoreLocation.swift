import Glibc

/// The directory of a store and the files in it, before LMDB opens them.
struct StoreLocation: Sendable {
    let directory: String

    var dataPath: String { directory + "/data.mdb" }
    /// Never to be opened by us while the store is open: closing it would drop LMDB's locks in this process.
    var lockPath: String { directory + "/lock.mdb" }

    /// Checks the directory and the file system; creates the directory where that is wanted.
    func prepare(access: Environment.Access, configuration: Environment.Configuration) throws(LMDBError) {
        let creates = access == .readWrite && configuration.creates
        if creates { try createDirectory() }
        guard let status = FileIdentity.status(path: directory) else { throw missing(errno, path: directory) }
        guard status.isDirectory else {
            throw LMDBError(
                .notAStore, operation: "open", path: directory,
                message: "This is not a directory: give the directory of a store.")
        }
        if !creates, FileIdentity.status(path: dataPath) == nil { throw missing(errno, path: dataPath) }
        guard configuration.allowRemoteFileSystem == false, let kind = FileSystem.remoteKind(path: directory) else {
            return
        }
        throw LMDBError(
            .unsupportedFileSystem, operation: "open", path: directory,
            message:
                "The directory is on \(kind), which cannot carry LMDB's locks and maps: put the store on a local "
                + "disk, or set allowRemoteFileSystem if only this machine uses it.")
    }

    /// Reserves the store in this process.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen``, also when another name leads to the same data file.
    func claim() throws(LMDBError) -> EnvironmentRegistry.Claim {
        guard let status = FileIdentity.status(path: directory) else { throw missing(errno, path: directory) }
        let data = FileIdentity.status(path: dataPath)?.identity
        guard let claim = EnvironmentRegistry.claim([status.identity], unlessOpen: data) else {
            throw Self.alreadyOpen(directory)
        }
        return claim
    }

    static func alreadyOpen(_ directory: String) -> LMDBError {
        LMDBError(
            .alreadyOpen, operation: "open", path: directory,
            message: "This process has the store open already: share that one, or close it first.")
    }

    /// Makes sure that there is a data file that LMDB can open.
    ///
    /// The caller holds the open lock and, for writing, the lease.
    ///
    /// - Returns: whether the file is new and empty.
    func createDataFile(
        lease: WriterLease?, configuration: Environment.Configuration
    ) throws(LMDBError) -> Bool {
        let finding: Preflight.Finding?
        do {
            finding = try Preflight.examine(path: dataPath)
        } catch  where error.code == .notFound && lease != nil && configuration.creates {
            finding = nil
        } catch  where lease?.wasCreating == true {
            // The process that created it died before anything could be stored.
            finding = nil
        }
        if case .sound = finding {
            try lease?.sign(creating: lease?.wasCreating == true)
            return false
        }
        guard let lease, configuration.creates, finding == nil || lease.wasCreating else {
            throw LMDBError(
                .truncated, operation: "open", path: dataPath,
                message: "The data file is empty: restore a backup, or delete the file to begin an empty store.")
        }
        try lease.sign(creating: true)
        try sync(directory)
        let descriptor = unsafe Glibc.open(dataPath, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(errno, operation: "create", path: dataPath) }
        defer { Glibc.close(descriptor) }
        // The umask may have taken bits that the owner needs.
        guard fchmod(descriptor, 0o600) == 0 else { throw .system(errno, operation: "create", path: dataPath) }
        return true
    }

    /// Makes a new data file and its name safe against power loss; LMDB does not care for the name.
    func makeCreationDurable() throws(LMDBError) {
        for path in [dataPath, directory, directory + "/.."] { try sync(path) }
    }

    private func sync(_ path: String) throws(LMDBError) {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, operation: "sync", path: path) }
        let result = fsync(descriptor)
        let number = errno
        Glibc.close(descriptor)
        guard result == 0 else { throw .system(number, operation: "sync", path: path) }
    }

    private func createDirectory() throws(LMDBError) {
        if unsafe mkdir(directory, 0o700) == 0 {
            // The umask may have taken bits that the owner needs.
            unsafe _ = chmod(directory, 0o700)
        } else if errno != EEXIST {
            throw .system(errno, operation: "create", path: directory)
        }
    }

    private func missing(_ number: Int32, path: String) -> LMDBError {
        guard number == ENOENT || number == ENOTDIR else { return .system(number, operation: "open", path: path) }
        return LMDBError(
            .notFound, operation: "open", path: path,
            message: "There is no store here: check the path, or open it for writing to create one.")
    }
}
