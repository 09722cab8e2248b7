import CTraylogLMDB
import TraylogPlatform

/// An environment as LMDB gives it, with its databases.
///
/// The caller holds the open lock, and takes over the handle.
@safe
struct MappedStore {
    let handle: OpaquePointer
    let dataFile: FileDescriptor
    let pages: PageMap
    let writeCheck: WriteCheck
    let databases: [String: Database]
    let journal: Journal

    /// - Parameter usesLocks: whether there is a lock file; only a reader does without.
    init(
        _ directory: EnvironmentDirectory, access: Environment.Access, usesLocks: Bool = true,
        databases names: [String],
        configuration: Environment.Configuration
    ) throws(LMDBError) {
        let path = directory.path
        let hadLock = Files.exists(directory.lockPath)
        let owner = try? FileStatus(path: directory.dataPath)
        if usesLocks {
            try LockSpace.reserve(directory.lockPath, owner: owner)
            try ReaderTable(path: directory.lockPath).check()
        }
        var created: OpaquePointer?
        let result = unsafe mdb_env_create(&created)
        guard result == 0, let handle = unsafe created else {
            throw LMDBError(result: result, operation: "open", path: path)
        }
        do {
            try unsafe Self.map(
                handle, path: path, access: access, usesLocks: usesLocks, names: names, configuration: configuration)
            var descriptor: Int32 = -1
            unsafe mdb_env_get_fd(handle, &descriptor)
            dataFile = FileDescriptor(number: descriptor)
            Self.keepFromChildren(dataFile)
            if usesLocks, !hadLock { Self.adoptLock(directory.lockPath, owner: owner) }
            pages = try unsafe Self.pages(handle, dataFile, path: directory.dataPath, names: names)
            writeCheck = WriteCheck(pages)
            databases =
                access == .readOnly
                ? try unsafe Self.findDatabases(handle, pages, path: path, usesLocks: usesLocks, names: names)
                : try unsafe Self.openDatabases(handle, writeCheck, path: path, names: names)
            journal = Journal(pages, path: directory.journalPath, capacityBytes: configuration.journalBytes)
            unsafe self.handle = handle
        } catch {
            unsafe mdb_env_close(handle)
            throw error
        }
    }

    private static func map(
        _ handle: OpaquePointer, path: String, access: Environment.Access, usesLocks: Bool, names: [String],
        configuration: Environment.Configuration
    ) throws(LMDBError) {
        var flags = UInt32(MDB_NOTLS)
        if !usesLocks { flags |= UInt32(MDB_NOLOCK) }
        if access == .readOnly { flags |= UInt32(MDB_RDONLY) }
        if access == .readWrite { flags |= configuration.durability.flags }
        // A map of part of a page makes LMDB round down to nothing.
        let pageMask = 0xFFFF
        let mapSize = (min(max(configuration.mapSizeBytes, 1 << 20), 1 << 46) + pageMask) & ~pageMask
        unsafe mdb_env_set_maxdbs(handle, UInt32(names.count))
        unsafe mdb_env_set_maxreaders(handle, UInt32(Environment.maximumReaders))
        unsafe mdb_env_set_mapsize(handle, mapSize)
        let result = unsafe mdb_env_open(handle, path, flags, 0o600)
        guard result == 0 else { throw LMDBError(result: result, operation: "open", path: path) }
    }

    /// Marks LMDB's descriptors of the data file so that a program started from here does not inherit them.
    ///
    /// LMDB has a second one for meta pages and does not tell its number.
    private static func keepFromChildren(_ file: FileDescriptor) {
        file.closeOnStart()
        guard let identity = try? file.status().identity else { return }
        for other in CurrentProcess.openFiles where (try? other.status())?.identity == identity {
            other.closeOnStart()
        }
    }

    /// Gives a lock file that LMDB has just created to the owner of the data file, by path, without opening it.
    private static func adoptLock(_ path: String, owner: FileStatus?) {
        try? Files.setMode(0o600, of: path)
        if CurrentProcess.isRoot, let owner { try? Files.setOwner(owner.owner, group: owner.group, of: path) }
    }

    /// Maps the file once more, for reading it without LMDB.
    private static func pages(
        _ handle: OpaquePointer, _ file: FileDescriptor, path: String, names: [String]
    ) throws(LMDBError) -> PageMap {
        var statistics = MDB_stat()
        unsafe mdb_env_stat(handle, &statistics)
        var information = unsafe MDB_envinfo()
        unsafe mdb_env_info(handle, &information)
        return try PageMap(
            file, path: path, byteCount: unsafe information.me_mapsize,
            pageSize: Int(statistics.ms_psize),
            tableNames: names)
    }

    /// Finds the databases without LMDB, which a reader needs for nothing but its place among the readers.
    private static func findDatabases(
        _ handle: OpaquePointer, _ pages: PageMap, path: String, usesLocks: Bool, names: [String]
    ) throws(LMDBError) -> [String: Database] {
        guard !usesLocks else { return try unsafe findDatabases(handle, pages, path: path, names: names) { _ in true } }
        // A writer that does not know of this reader may be faster, and then all that was found means nothing.
        for _ in 0..<100 {
            var isWhole = false
            let found = Result { () throws(LMDBError) in
                unsafe try findDatabases(handle, pages, path: path, names: names) { snapshot in
                    isWhole = snapshot.isWhole
                    return isWhole
                }
            }
            if isWhole { return try found.get() }
            OSThread.sleep(milliseconds: 1)
        }
        throw .overtaken("open", path)
    }

    /// - Parameter isWhole: asked at the end, whatever that is; what was found is not noted where it answers false.
    @unsafe private static func findDatabases(
        _ handle: OpaquePointer, _ pages: PageMap, path: String, names: [String], isWhole: (Snapshot) -> Bool
    ) throws(LMDBError) -> [String: Database] {
        let transaction = unsafe try begin(handle, UInt32(MDB_RDONLY), path: path)
        let read = unsafe ReadHandle(transaction, pages)
        defer { read.end() }
        guard try read.load() else { throw LMDBError(result: MDB_MAP_RESIZED, operation: "open", path: path) }
        var databases: [String: Database] = [:]
        do throws(LMDBError) {
            for (index, name) in names.enumerated() {
                guard try read.snapshot.hasTable(index) else {
                    throw failure(MDB_NOTFOUND, name: name, path: path)
                }
                databases[name] = Database(handle: 0, index: index)
            }
            try read.snapshot.checkCommits()
        } catch {
            _ = isWhole(read.snapshot)
            throw error
        }
        let free = read.snapshot.freePages()
        if isWhole(read.snapshot) { pages.noteFree(free) }
        return databases
    }

    /// Opens all databases in one transaction: a handle from an aborted transaction would be invalid.
    ///
    /// LMDB gets to see the table of tables only after it was looked at.
    private static func openDatabases(
        _ handle: OpaquePointer, _ check: WriteCheck, path: String, names: [String]
    ) throws(LMDBError) -> [String: Database] {
        let transaction = unsafe try begin(handle, 0, path: path)
        var databases: [String: Database] = [:]
        do throws(LMDBError) {
            try check.begin(after: unsafe UInt64(mdb_txn_id(transaction)) - 1)
            try check.snapshot.checkCommits()
            check.noteFree()
            check.trustNote()
            for (index, name) in names.enumerated() {
                if try !check.snapshot.hasTable(index) { try check.requirePagesOnce() }
                var number: MDB_dbi = 0
                let result = unsafe mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &number)
                guard result == 0 else { throw failure(result, name: name, path: path) }
                databases[name] = Database(handle: number, index: index)
            }
        } catch {
            unsafe mdb_txn_abort(transaction)
            throw error
        }
        let number = UInt64(unsafe mdb_txn_id(transaction))
        let result = unsafe mdb_txn_commit(transaction)
        guard result == 0 else { throw LMDBError(result: result, operation: "open", path: path) }
        check.leaveNote(of: number)
        return databases
    }

    @unsafe private static func begin(
        _ handle: OpaquePointer, _ flags: UInt32, path: String
    ) throws(LMDBError) -> OpaquePointer {
        var transaction: OpaquePointer?
        let result = unsafe mdb_txn_begin(handle, nil, flags, &transaction)
        guard result == 0, let transaction = unsafe transaction else {
            throw LMDBError(result: result, operation: "open", path: path)
        }
        return unsafe transaction
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
