/// A position among the sorted keys of one database, in a snapshot.
///
/// A movement that finds no entry leaves the cursor before the first or past the last one: from there ``next()`` gives
/// the first entry and ``previous()`` the last. A new cursor stands at both ends.
@safe
@usableFromInline package struct RowCursor: ~Copyable {
    @usableFromInline
    enum Position {
        case unset, beforeFirst, atEntry, pastLast
    }

    /// Not retained: a cursor lives inside a transaction, and that inside a call on its environment.
    @usableFromInline unowned(unsafe) let snapshot: Snapshot
    let table: TableRecord
    var place: Place?
    @usableFromInline var key = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    @usableFromInline var value = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    @usableFromInline var position = Position.unset

    @usableFromInline
    init(_ snapshot: Snapshot, _ database: Database) throws(LMDBError) {
        unsafe self.snapshot = snapshot
        table = try snapshot.record(database)
    }

    /// Moves to the smallest key; false when the database is empty.
    @usableFromInline
    package mutating func first() throws(LMDBError) -> Bool {
        try arrive(unsafe snapshot.first(in: table), orElse: .pastLast)
    }

    /// Moves to the greatest key; false when the database is empty.
    @usableFromInline
    package mutating func last() throws(LMDBError) -> Bool {
        try arrive(unsafe snapshot.last(in: table), orElse: .beforeFirst)
    }

    /// Moves to the next greater key; about 50 ns.
    ///
    /// False past the last one.
    @usableFromInline
    package mutating func next() throws(LMDBError) -> Bool {
        switch position {
        case .unset, .beforeFirst: return try first()
        case .pastLast: return false
        case .atEntry: break
        }
        place?.index += 1
        guard let here = place, here.index == here.count else { return try show() }
        return try arrive(unsafe snapshot.nextLeaf(here, table), orElse: .pastLast)
    }

    /// Moves to the next smaller key; false before the first one.
    @usableFromInline
    package mutating func previous() throws(LMDBError) -> Bool {
        switch position {
        case .unset, .pastLast: return try last()
        case .beforeFirst: return false
        case .atEntry: break
        }
        place?.index -= 1
        guard let here = place, here.index < 0 else { return try show() }
        return try arrive(unsafe snapshot.previousLeaf(here, table), orElse: .beforeFirst)
    }

    /// Moves to the smallest key that is not less than `key`; false, and past the last entry, when there is none.
    ///
    /// - Parameter key: an empty one is less than any other.
    @inlinable
    package mutating func seek(_ key: RawSpan) throws(LMDBError) -> Bool {
        if key.isEmpty { return try first() }
        return unsafe try key.withUnsafeBytes { (key) throws(LMDBError) in unsafe try find(key) }
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
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
        return try unsafe body(key.bytes, value.bytes)
    }

    @usableFromInline
    @unsafe mutating func find(_ sought: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        try arrive(unsafe snapshot.seek(KeyBytes(sought), in: table), orElse: .pastLast)
    }

    private mutating func arrive(_ place: Place?, orElse end: Position) throws(LMDBError) -> Bool {
        self.place = place
        guard place != nil else {
            position = end
            return false
        }
        return try show()
    }

    /// Looks up the entry at the present place.
    private mutating func show() throws(LMDBError) -> Bool {
        guard let place else { return false }
        guard let stored = place.leaf.key(place.index) else {
            throw unsafe snapshot.error(.entries, place.leaf, table)
        }
        unsafe key = UnsafeRawBufferPointer(start: stored.base, count: stored.count)
        // Without a look at the snapshot, which would be retained for each row of a scan.
        if let found = place.leaf.value(place.index), found.flags == 0 {
            unsafe value = UnsafeRawBufferPointer(start: place.leaf.base + found.offset, count: found.byteCount)
        } else {
            unsafe value = try snapshot.value(at: place, table.name)
        }
        position = .atEntry
        return true
    }
}
