import CTraylogLMDB

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
