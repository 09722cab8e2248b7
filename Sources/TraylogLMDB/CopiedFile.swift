import CTraylogLMDB
import TraylogPlatform

/// A data file that nobody else writes, looked at without the lock file that a store has.
enum CopiedFile {
    /// The greatest key of a table; nil when that is empty.
    ///
    /// - Throws: ``LMDBError/Code/missingDatabase`` and what else keeps LMDB from reading the file.
    static func lastKey(of table: String, path: String) throws(LMDBError) -> [UInt8]? {
        try unsafe read(path) { (transaction) throws(LMDBError) in
            var database = MDB_dbi()
            try check(unsafe mdb_dbi_open(transaction, table, 0, &database), path)
            return try unsafe lastKey(transaction, database, path)
        }
    }

    @unsafe private static func read<R>(
        _ path: String, _ body: (OpaquePointer) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        var created: OpaquePointer?
        try check(unsafe mdb_env_create(&created), path)
        guard let handle = unsafe created else { throw LMDBError.system(.outOfMemory, operation: "open", path: path) }
        defer { unsafe mdb_env_close(handle) }
        unsafe mdb_env_set_maxdbs(handle, 1)
        let flags = UInt32(MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK)
        try check(unsafe mdb_env_open(handle, path, flags, 0o600), path)
        var opened: OpaquePointer?
        try check(unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &opened), path)
        guard let transaction = unsafe opened else {
            throw LMDBError.system(.outOfMemory, operation: "open", path: path)
        }
        defer { unsafe mdb_txn_abort(transaction) }
        return try unsafe body(transaction)
    }

    private static func lastKey(
        _ transaction: OpaquePointer, _ database: MDB_dbi, _ path: String
    ) throws(LMDBError) -> [UInt8]? {
        var cursor: OpaquePointer?
        try check(unsafe mdb_cursor_open(transaction, database, &cursor), path)
        defer { unsafe mdb_cursor_close(cursor) }
        var (key, value) = unsafe (MDB_val(), MDB_val())
        let result = unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST)
        if result == MDB_NOTFOUND { return nil }
        try check(result, path)
        return unsafe Array(Entry.buffer(key))
    }

    private static func check(_ result: Int32, _ path: String) throws(LMDBError) {
        if result != 0 { throw LMDBError(result: result, operation: "check a copy", path: path) }
    }
}
