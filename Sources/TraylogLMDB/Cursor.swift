import CTraylogLMDB

/// A position among the sorted keys of one database.
///
/// A movement that finds no entry leaves the cursor before the first or past the last one: from there ``next()`` gives
/// the first entry and ``previous()`` the last. A new cursor stands at both ends.
@safe
@usableFromInline package struct Cursor: ~Copyable {
    @usableFromInline
    enum Position {
        case unset, beforeFirst, atEntry, pastLast
    }

    @usableFromInline let handle: OpaquePointer
    /// Not retained: a cursor lives inside a transaction, and that inside a call on its environment.
    @usableFromInline unowned(unsafe) let environment: Environment
    @usableFromInline var key = unsafe MDB_val()
    @usableFromInline var value = unsafe MDB_val()
    @usableFromInline var position = Position.unset

    @inlinable
    init(handle: OpaquePointer, environment: Environment) {
        unsafe self.handle = handle
        unsafe self.environment = environment
    }

    /// Moves to the smallest key; false when the database is empty.
    @inlinable
    package mutating func first() throws(LMDBError) -> Bool {
        try move(MDB_FIRST, orElse: .pastLast)
    }

    /// Moves to the greatest key; false when the database is empty.
    @inlinable
    package mutating func last() throws(LMDBError) -> Bool {
        try move(MDB_LAST, orElse: .beforeFirst)
    }

    /// Moves to the next greater key; about 50 ns. False past the last one.
    @inlinable
    package mutating func next() throws(LMDBError) -> Bool {
        switch position {
        case .atEntry: try move(MDB_NEXT, orElse: .pastLast)
        case .unset, .beforeFirst: try move(MDB_FIRST, orElse: .pastLast)
        case .pastLast: false
        }
    }

    /// Moves to the next smaller key; false before the first one.
    @inlinable
    package mutating func previous() throws(LMDBError) -> Bool {
        switch position {
        case .atEntry: try move(MDB_PREV, orElse: .beforeFirst)
        case .unset, .pastLast: try move(MDB_LAST, orElse: .beforeFirst)
        case .beforeFirst: false
        }
    }

    /// Moves to the smallest key that is not less than `key`; false, and past the last entry, when there is none.
    ///
    /// - Parameter key: an empty one is less than any other.
    @inlinable
    package mutating func seek(_ key: RawSpan) throws(LMDBError) -> Bool {
        if key.isEmpty { return try first() }
        let result = unsafe key.withUnsafeBytes { unsafe find($0) }
        return try arrive(result, orElse: .pastLast)
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package mutating func seek(_ key: UInt64) throws(LMDBError) -> Bool {
        let result = unsafe withUnsafeBytes(of: key.bigEndian) { unsafe find($0) }
        return try arrive(result, orElse: .pastLast)
    }

    /// Calls `body` with the current entry, in place.
    ///
    /// There must be one: the last movement returned true.
    @inlinable
    package borrowing func withEntry<R: ~Copyable, E: Error>(
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(position == .atEntry, "The cursor has no current entry.")
        return try unsafe body(Entry.buffer(key).bytes, Entry.buffer(value).bytes)
    }

    @inlinable
    @unsafe mutating func find(_ sought: UnsafeRawBufferPointer) -> Int32 {
        unsafe key = Entry.value(sought)
        return unsafe mdb_cursor_get(handle, &key, &value, MDB_SET_RANGE)
    }

    @inlinable
    mutating func move(_ operation: MDB_cursor_op, orElse end: Position) throws(LMDBError) -> Bool {
        try arrive(unsafe mdb_cursor_get(handle, &key, &value, operation), orElse: end)
    }

    @inlinable
    mutating func arrive(_ result: Int32, orElse end: Position) throws(LMDBError) -> Bool {
        if result == 0 {
            position = .atEntry
            return true
        }
        position = end
        if result == MDB_NOTFOUND { return false }
        throw unsafe environment.failure(result, "move a cursor")
    }
}
