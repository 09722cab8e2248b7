import CTraylogLMDB

/// What reading and writing transactions have in common: a handle, and the environment to blame in errors.
@safe
@usableFromInline
struct TransactionReads {
    @usableFromInline let handle: OpaquePointer
    /// Not retained: a transaction lives inside a call on its environment.
    @usableFromInline unowned(unsafe) let environment: Environment

    @inlinable
    init(handle: OpaquePointer, environment: Environment) {
        unsafe self.handle = handle
        unsafe self.environment = environment
    }

    /// The value of a key as LMDB's pointer, valid until the transaction ends or writes; nil when there is none.
    @inlinable
    @unsafe func find(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> MDB_val? {
        var key = unsafe Entry.value(key)
        var value = unsafe MDB_val()
        let result = unsafe mdb_get(handle, database.handle, &key, &value)
        if result == 0 { return unsafe value }
        if result == MDB_NOTFOUND { return nil }
        throw failure(result, "get")
    }

    @inlinable
    func get<R: ~Copyable>(
        _ database: Database, _ key: RawSpan, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        guard let value = unsafe try key.withUnsafeBytes({ unsafe try find(database, $0) }) else { return nil }
        return unsafe try body(Entry.buffer(value).bytes)
    }

    @inlinable
    func get<R: ~Copyable>(
        _ database: Database, _ key: UInt64, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        let found = unsafe try withUnsafeBytes(of: key.bigEndian) { unsafe try find(database, $0) }
        guard let value = unsafe found else { return nil }
        return unsafe try body(Entry.buffer(value).bytes)
    }

    @inlinable
    func withCursor<R: ~Copyable>(
        _ database: Database, _ body: (inout Cursor) throws -> R
    ) throws -> R {
        var opened: OpaquePointer?
        let result = unsafe mdb_cursor_open(handle, database.handle, &opened)
        guard result == 0, let opened = unsafe opened else { throw failure(result, "open a cursor") }
        defer { unsafe mdb_cursor_close(opened) }
        var cursor = unsafe Cursor(handle: opened, environment: environment)
        defer { unsafe precondition(cursor.handle == opened, "A cursor was swapped out of its transaction.") }
        return try body(&cursor)
    }

    @usableFromInline
    func statistics(_ database: Database) -> DatabaseStatistics {
        var raw = MDB_stat()
        let result = unsafe mdb_stat(handle, database.handle, &raw)
        precondition(result == 0, "The database does not belong to this transaction's environment.")
        return DatabaseStatistics(raw)
    }

    @usableFromInline
    func failure(_ result: Int32, _ operation: String) -> LMDBError {
        unsafe environment.failure(result, operation)
    }
}
