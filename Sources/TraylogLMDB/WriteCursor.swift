import CTraylogLMDB
import TraylogPages

/// A position among the sorted keys of one database, in a write transaction, whose changes it sees.
///
/// It moves as a ``RowCursor`` does. Each movement looks at the pages that LMDB will walk through.
@safe
@usableFromInline package struct WriteCursor: ~Copyable {
    @usableFromInline
    enum Position {
        case unset, beforeFirst, atEntry, pastLast
    }

    @usableFromInline let handle: OpaquePointer
    /// Not retained: a cursor lives inside a transaction, and that inside a call on its environment.
    private unowned(unsafe) let check: WriteCheck
    private let table: TableName
    @usableFromInline var key = unsafe MDB_val()
    @usableFromInline var value = unsafe MDB_val()
    @usableFromInline var position = Position.unset

    @usableFromInline
    @unsafe init(_ handle: OpaquePointer, _ check: WriteCheck, _ database: Database) throws(LMDBError) {
        unsafe self.handle = handle
        unsafe self.check = check
        table = .named(database.index)
        try check.requireTable(database)
    }

    /// Moves to the smallest key; false when the database is empty.
    package mutating func first() throws(LMDBError) -> Bool {
        unsafe try check.checkFirst(table)
        return try move(MDB_FIRST, orElse: .pastLast)
    }

    /// Moves to the greatest key; false when the database is empty.
    package mutating func last() throws(LMDBError) -> Bool {
        unsafe try check.checkLast(table)
        return try move(MDB_LAST, orElse: .beforeFirst)
    }

    /// Moves to the next greater key; false past the last one.
    package mutating func next() throws(LMDBError) -> Bool {
        switch position {
        case .unset, .beforeFirst: return try first()
        case .pastLast: return false
        case .atEntry: break
        }
        try checkNeighbors()
        return try move(MDB_NEXT, orElse: .pastLast)
    }

    /// Moves to the next smaller key; false before the first one.
    package mutating func previous() throws(LMDBError) -> Bool {
        switch position {
        case .unset, .pastLast: return try last()
        case .beforeFirst: return false
        case .atEntry: break
        }
        try checkNeighbors()
        return try move(MDB_PREV, orElse: .beforeFirst)
    }

    /// Moves to the smallest key that is not less than `key`; false, and past the last entry, when there is none.
    ///
    /// - Parameter key: an empty one is less than any other.
    package mutating func seek(_ key: RawSpan) throws(LMDBError) -> Bool {
        if key.isEmpty { return try first() }
        return unsafe try key.withUnsafeBytes { (key) throws(LMDBError) in unsafe try find(key) }
    }

    /// The same for a key of eight big-endian bytes.
    package mutating func seek(_ key: UInt64) throws(LMDBError) -> Bool {
        unsafe try withUnsafeBytes(of: key.bigEndian) { (key) throws(LMDBError) in unsafe try find(key) }
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

    @unsafe private mutating func find(_ sought: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        unsafe try check.checkNeighbors(of: KeyBytes(sought), in: table)
        unsafe key = Entry.value(sought)
        return try move(MDB_SET_RANGE, orElse: .pastLast)
    }

    /// LMDB goes from the current leaf to one beside it.
    private func checkNeighbors() throws(LMDBError) {
        unsafe try check.checkNeighbors(of: KeyBytes(Entry.buffer(key)), in: table)
    }

    private mutating func move(_ operation: MDB_cursor_op, orElse end: Position) throws(LMDBError) -> Bool {
        let result = unsafe mdb_cursor_get(handle, &key, &value, operation)
        if result == 0 {
            position = .atEntry
            return true
        }
        position = end
        if result == MDB_NOTFOUND { return false }
        throw unsafe LMDBError(result: result, operation: "move a cursor", path: check.snapshot.pages.path)
    }
}
