import CTraylogLMDB

/// The one writer an environment has at a time.
///
/// It exists only inside ``Environment/write(_:)``: being noncopyable and lent to the closure, it cannot be stored,
/// so no write can happen after the commit. A write that fails poisons the transaction: even if its error is caught,
/// the transaction is given up at the end and ``Environment/write(_:)`` throws that first error.
@safe
@usableFromInline package struct WriteTransaction: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    /// Not retained: a transaction lives inside a call on its environment.
    @usableFromInline unowned(unsafe) let environment: Environment
    @usableFromInline unowned(unsafe) let check: WriteCheck
    /// The first write that failed.
    @usableFromInline var poison: LMDBError?

    @inlinable
    init(handle: OpaquePointer, environment: Environment, check: WriteCheck) {
        unsafe self.handle = handle
        unsafe self.environment = environment
        unsafe self.check = check
        poison = nil
    }

    /// The number this transaction has once committed.
    package var id: UInt64 {
        UInt64(unsafe mdb_txn_id(handle))
    }

    /// Calls `body` with the value of `key`, in place and with this transaction's own changes; nil when there is none.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: RawSpan, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        guard let value = unsafe try key.withUnsafeBytes({ unsafe try find(database, $0) }) else { return nil }
        return unsafe try body(Entry.buffer(value).bytes)
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: UInt64, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        let found = unsafe try withUnsafeBytes(of: key.bigEndian) { unsafe try find(database, $0) }
        guard let value = unsafe found else { return nil }
        return unsafe try body(Entry.buffer(value).bytes)
    }

    /// The value of a key as LMDB's pointer, valid until the transaction ends or writes; nil when there is none.
    @usableFromInline
    @unsafe func find(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> MDB_val? {
        unsafe try check.checkKey(KeyBytes(key), in: .named(database.index))
        var key = unsafe Entry.value(key)
        var value = unsafe MDB_val()
        let result = unsafe mdb_get(handle, database.handle, &key, &value)
        if result == 0 { return unsafe value }
        if result == MDB_NOTFOUND { return nil }
        throw unsafe environment.failure(result, "get")
    }
}

/// Conversions between spans and LMDB's pointers.
///
/// LMDB never writes through the pointers it is given as keys and values, though their type would allow it.
@usableFromInline enum Entry {
    @inlinable
    @unsafe static func value(_ bytes: UnsafeRawBufferPointer) -> MDB_val {
        unsafe MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inlinable
    @unsafe static func buffer(_ value: MDB_val) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }
}
