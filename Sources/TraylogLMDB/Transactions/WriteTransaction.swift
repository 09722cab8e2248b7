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

extension WriteTransaction {
    /// Stores `value` under `key`, in place of what was there.
    ///
    /// Values over 2,022 bytes (with an 8-byte key) get pages of their own; over 4,080 bytes these must be contiguous.
    ///
    /// - Parameter key: 1 to 511 bytes.
    /// - Throws: ``LMDBError/Code/mapFull``, ``LMDBError/Code/badValueSize``, ``LMDBError/Code/diskFull`` and others;
    ///   the transaction is poisoned then.
    @inlinable
    package mutating func put(_ database: Database, _ key: RawSpan, _ value: RawSpan) throws(LMDBError) {
        unsafe try key.withUnsafeBytes { (key) throws(LMDBError) in
            unsafe try value.withUnsafeBytes { (value) throws(LMDBError) in unsafe try store(database, key, value) }
        }
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package mutating func put(_ database: Database, _ key: UInt64, _ value: RawSpan) throws(LMDBError) {
        unsafe try withUnsafeBytes(of: key.bigEndian) { (key) throws(LMDBError) in
            unsafe try value.withUnsafeBytes { (value) throws(LMDBError) in unsafe try store(database, key, value) }
        }
    }

    /// Stores `value` under a key greater than all others; pages are filled completely and no search is made.
    ///
    /// - Throws: ``LMDBError/Code/outOfOrder`` when the key is not the greatest; the transaction is poisoned then.
    @inlinable
    package mutating func append(_ database: Database, _ key: UInt64, _ value: RawSpan) throws(LMDBError) {
        try prepareAppend(database)
        let result = unsafe withUnsafeBytes(of: key.bigEndian) { key in
            unsafe value.withUnsafeBytes { unsafe append(database, key, $0) }
        }
        if result != 0 { throw poisoned(result, "append") }
    }

    /// The same for a key of any bytes.
    @inlinable
    package mutating func append(_ database: Database, _ key: RawSpan, _ value: RawSpan) throws(LMDBError) {
        try prepareAppend(database)
        let result = unsafe key.withUnsafeBytes { key in
            unsafe value.withUnsafeBytes { unsafe append(database, key, $0) }
        }
        if result != 0 { throw poisoned(result, "append") }
    }

    /// Appends values under successive keys; the end of the database is looked for once.
    ///
    /// - Parameters:
    ///   - key: the key of the first value, of eight big-endian bytes; each further one is greater by 1.
    ///   - values: one after the other.
    ///   - ends: where each of them ends.
    /// - Throws: as ``append(_:_:_:)``.
    package mutating func append(
        _ database: Database, from key: UInt64, _ values: RawSpan, ends: Span<Int>
    ) throws(LMDBError) {
        try prepareAppend(database)
        var cursor: OpaquePointer?
        let opened = unsafe mdb_cursor_open(handle, database.handle, &cursor)
        guard opened == 0 else { throw poisoned(opened, "append") }
        defer { unsafe mdb_cursor_close(cursor) }
        var start = 0
        for index in ends.indices {
            let key = key &+ UInt64(index)
            let result = unsafe withUnsafeBytes(of: key.bigEndian) { key in
                unsafe values.extracting(start..<ends[index]).withUnsafeBytes { value in
                    var key = unsafe Entry.value(key)
                    var value = unsafe Entry.value(value)
                    return unsafe mdb_cursor_put(cursor, &key, &value, UInt32(MDB_APPEND))
                }
            }
            if result != 0 { throw poisoned(result, "append") }
            start = ends[index]
        }
    }

    /// Removes `key`.
    ///
    /// - Returns: whether it was stored.
    /// - Throws: as ``put(_:_:_:)``.
    @inlinable
    package mutating func delete(_ database: Database, _ key: RawSpan) throws(LMDBError) -> Bool {
        unsafe try key.withUnsafeBytes { (key) throws(LMDBError) in unsafe try remove(database, key) }
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package mutating func delete(_ database: Database, _ key: UInt64) throws(LMDBError) -> Bool {
        unsafe try withUnsafeBytes(of: key.bigEndian) { (key) throws(LMDBError) in unsafe try remove(database, key) }
    }

    @usableFromInline
    @unsafe mutating func store(
        _ database: Database, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(LMDBError) {
        try prepare { (check) throws(LMDBError) in
            unsafe try check.checkKey(KeyBytes(key), in: .named(database.index))
        }
        var key = unsafe Entry.value(key)
        var value = unsafe Entry.value(value)
        let result = unsafe mdb_put(handle, database.handle, &key, &value, 0)
        if result != 0 { throw poisoned(result, "put") }
    }

    @inlinable
    @unsafe func append(
        _ database: Database, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) -> Int32 {
        var key = unsafe Entry.value(key)
        var value = unsafe Entry.value(value)
        return unsafe mdb_put(handle, database.handle, &key, &value, UInt32(MDB_APPEND))
    }

    @usableFromInline
    @unsafe mutating func remove(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        try prepare { (check) throws(LMDBError) in
            unsafe try check.checkNeighbors(of: KeyBytes(key), in: .named(database.index))
        }
        var key = unsafe Entry.value(key)
        let result = unsafe mdb_del(handle, database.handle, &key, nil)
        if result != 0, result != MDB_NOTFOUND { throw poisoned(result, "delete") }
        return result == 0
    }

    @usableFromInline
    mutating func prepareAppend(_ database: Database) throws(LMDBError) {
        try prepare { (check) throws(LMDBError) in try check.checkLast(.named(database.index)) }
    }

    /// Looks at the pages that a write will touch; damage poisons the transaction like a failed write.
    private mutating func prepare(_ body: (WriteCheck) throws(LMDBError) -> Void) throws(LMDBError) {
        do {
            unsafe try body(check)
        } catch {
            if poison == nil { poison = error }
            throw error
        }
    }

    /// Remembers the first failed write, and gives the error to throw.
    @usableFromInline
    mutating func poisoned(_ result: Int32, _ operation: String) -> LMDBError {
        var error = unsafe environment.failure(result, operation)
        if result == MDB_KEYEXIST, operation == "append" {
            error.code = .outOfOrder
            error.message = "The key is not greater than every stored key, so it cannot be appended."
        } else if result == MDB_BAD_TXN, let poison {
            error.code = .poisoned
            error.message = "An earlier write of this transaction failed: \(poison.message)"
        }
        if poison == nil { poison = error }
        return error
    }
}
