import TraylogPages
import TraylogPlatform

/// The directory of a store and the files in it, before LMDB opens them.
struct StoreLocation: Sendable {
    let directory: String

    var dataPath: String { directory + "/data.mdb" }
    /// Never to be opened by us while the store is open: closing it would drop LMDB's locks in this process.
    var lockPath: String { directory + "/lock.mdb" }

    /// Checks the directory and the file system; creates the directory where that is wanted.
    func prepare(access: Environment.Access, configuration: Environment.Configuration) throws(LMDBError) {
        let creates = access == .readWrite && configuration.creates
        if creates { try LMDBError.attempt("create", directory, Files.createDirectory(directory)) }
        let status = try status(of: directory)
        guard status.isDirectory else {
            throw LMDBError(
                .notAStore, operation: "open", path: directory,
                message: "This is not a directory: give the directory of a store.")
        }
        if !creates { _ = try self.status(of: dataPath) }
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
        let status = try status(of: directory)
        let data = (try? FileStatus(path: dataPath))?.identity
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
        let file = try LMDBError.attempt(
            "create", dataPath,
            FileDescriptor(opening: dataPath, [.readingAndWriting, .creating, .truncating, .refusingLinks]))
        defer { file.close() }
        // The umask may have taken bits that the owner needs.
        try LMDBError.attempt("create", dataPath, file.setMode(0o600))
        return true
    }

    /// Makes a new data file and its name safe against power loss; LMDB does not care for the name.
    func makeCreationDurable() throws(LMDBError) {
        for path in [dataPath, directory, directory + "/.."] { try sync(path) }
    }

    private func sync(_ path: String) throws(LMDBError) {
        try LMDBError.attempt("sync", path, Files.sync(path))
    }

    private func status(of path: String) throws(LMDBError) -> FileStatus {
        do {
            return try FileStatus(path: path)
        } catch {
            guard error == .noEntry || error == .notDirectory else {
                throw .system(error, operation: "open", path: path)
            }
            throw LMDBError(
                .notFound, operation: "open", path: path,
                message: "There is no store here: check the path, or open it for writing to create one.")
        }
    }
}
