import CTraylogLMDB
import Glibc

/// An environment as LMDB gives it, with its databases.
///
/// The caller holds the open lock, and takes over the handle.
@safe
struct MappedStore {
    let handle: OpaquePointer
    let dataDescriptor: Int32
    let pageSizeBytes: Int
    let databases: [String: Database]

    init(
        _ location: StoreLocation, access: Environment.Access, databases names: [String],
        configuration: Environment.Configuration
    ) throws(LMDBError) {
        let path = location.directory
        let hadLock = FileIdentity.status(path: location.lockPath) != nil
        let owner = FileIdentity.status(path: location.dataPath)
        try LockSpace.reserve(location.lockPath, owner: owner)
        var created: OpaquePointer?
        let result = unsafe mdb_env_create(&created)
        guard result == 0, let handle = unsafe created else {
            throw LMDBError(result: result, operation: "open", path: path)
        }
        do {
            try unsafe Self.map(handle, path: path, access: access, names: names, configuration: configuration)
            var descriptor: Int32 = -1
            unsafe mdb_env_get_fd(handle, &descriptor)
            Self.keepFromChildren(descriptor)
            if !hadLock { Self.adoptLock(location.lockPath, owner: owner) }
            databases = try unsafe Self.openDatabases(handle, path: path, access: access, names: names)
            var statistics = MDB_stat()
            unsafe mdb_env_stat(handle, &statistics)
            pageSizeBytes = Int(statistics.ms_psize)
            dataDescriptor = descriptor
            unsafe self.handle = handle
        } catch {
            unsafe mdb_env_close(handle)
            throw error
        }
    }

    private static func map(
        _ handle: OpaquePointer, path: String, access: Environment.Access, names: [String],
        configuration: Environment.Configuration
    ) throws(LMDBError) {
        var flags = UInt32(MDB_NOTLS)
        if access == .readOnly { flags |= UInt32(MDB_RDONLY) }
        if access == .readWrite, configuration.durability == .relaxed { flags |= UInt32(MDB_NOMETASYNC) }
        // A map of part of a page makes LMDB round down to nothing.
        let pageMask = 0xFFFF
        let mapSize = (max(configuration.mapSizeBytes, 1 << 20) + pageMask) & ~pageMask
        unsafe mdb_env_set_maxdbs(handle, UInt32(max(names.count, 1)))
        unsafe mdb_env_set_maxreaders(handle, UInt32(Environment.maximumReaders))
        unsafe mdb_env_set_mapsize(handle, mapSize)
        let result = unsafe mdb_env_open(handle, path, flags, 0o600)
        guard result == 0 else { throw LMDBError(result: result, operation: "open", path: path) }
    }

    /// Marks LMDB's descriptors of the data file so that a program started from here does not inherit them.
    ///
    /// LMDB has a second one for meta pages and does not tell its number.
    private static func keepFromChildren(_ descriptor: Int32) {
        guard let identity = FileIdentity.status(descriptor: descriptor)?.identity else { return }
        guard let directory = unsafe opendir("/proc/self/fd") else { return }
        defer { unsafe _ = closedir(directory) }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard let number = Int32(name), FileIdentity.status(descriptor: number)?.identity == identity else {
                continue
            }
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Gives a lock file that LMDB has just created to the owner of the data file, by path, without opening it.
    private static func adoptLock(_ path: String, owner: FileIdentity.Status?) {
        unsafe _ = chmod(path, 0o600)
        if geteuid() == 0, let owner { unsafe _ = lchown(path, owner.owner, owner.group) }
    }

    /// Opens all databases in one transaction: a handle from an aborted transaction would be invalid.
    private static func openDatabases(
        _ handle: OpaquePointer, path: String, access: Environment.Access, names: [String]
    ) throws(LMDBError) -> [String: Database] {
        var transaction: OpaquePointer?
        let flags = access == .readOnly ? UInt32(MDB_RDONLY) : 0
        var result = unsafe mdb_txn_begin(handle, nil, flags, &transaction)
        guard result == 0, let transaction = unsafe transaction else {
            throw LMDBError(result: result, operation: "open", path: path)
        }
        var databases: [String: Database] = [:]
        for name in names {
            var number: MDB_dbi = 0
            result = unsafe mdb_dbi_open(
                transaction, name, access == .readOnly ? 0 : UInt32(MDB_CREATE), &number)
            guard result == 0 else {
                unsafe mdb_txn_abort(transaction)
                throw failure(result, name: name, path: path)
            }
            databases[name] = Database(handle: number)
        }
        result = unsafe mdb_txn_commit(transaction)
        guard result == 0 else { throw LMDBError(result: result, operation: "open", path: path) }
        return databases
    }

    private static func failure(_ result: Int32, name: String, path: String) -> LMDBError {
        guard result == MDB_NOTFOUND || result == MDB_INCOMPATIBLE else {
            return LMDBError(result: result, operation: "open", path: path)
        }
        return LMDBError(
            .missingDatabase, operation: "open", path: path,
            message:
                "The file has no database \"\(name)\": it is not such a store, or a newer program must open it for "
                + "writing once.")
    }
}
