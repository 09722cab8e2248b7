import CTraylogLMDB
import Synchronization

/// Something that rows are read from; each call of ``read(_:)`` sees one commit.
///
/// An environment begins a transaction for each call, a snapshot uses the same one for all.
package protocol RowReader: Sendable {
    func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R
}

/// One snapshot of all databases.
///
/// It exists only inside of `Environment.read`: being noncopyable and lent to the closure, it cannot be stored.
/// While it lives, pages that later commits free cannot be reused, so a long one makes the file grow: keep it under
/// 250 ms, and resume a long scan by key in a new one.
@safe
@usableFromInline package struct ReadTransaction: ~Copyable {
    /// Not retained: it lives as long as the environment keeps its transaction of LMDB.
    @usableFromInline unowned(unsafe) let snapshot: Snapshot

    /// - Parameter snapshot: not retained.
    @inlinable
    init(_ snapshot: Snapshot) {
        unsafe self.snapshot = snapshot
    }

    /// The number of the commit that the snapshot shows.
    package var id: UInt64 {
        unsafe snapshot.transaction
    }

    /// Calls `body` with the value of `key`, in place; nil when the key is not stored.
    ///
    /// - Complexity: O(log n); nothing is copied.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: RawSpan, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        let found = unsafe try key.withUnsafeBytes { unsafe try snapshot.value(of: $0, in: database) }
        guard let value = unsafe found else { return nil }
        return unsafe try body(value.bytes)
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: UInt64, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        let found = unsafe try withUnsafeBytes(of: key.bigEndian) { unsafe try snapshot.value(of: $0, in: database) }
        guard let value = unsafe found else { return nil }
        return unsafe try body(value.bytes)
    }

    /// Lends a cursor without a position over `database`.
    @inlinable
    package borrowing func withCursor<R: ~Copyable>(
        _ database: Database, _ body: (inout RowCursor) throws -> R
    ) throws -> R {
        var cursor = unsafe try RowCursor(snapshot, database)
        return try body(&cursor)
    }

    /// - Complexity: O(1).
    package borrowing func statistics(_ database: Database) throws(LMDBError) -> DatabaseStatistics {
        DatabaseStatistics(unsafe try snapshot.record(database))
    }

    /// The bytes of the file that the snapshot can be in.
    package var fileBytes: UInt64 {
        unsafe snapshot.readablePages &* UInt64(snapshot.pageSize)
    }

    /// The number of pages that later commits will use again.
    package borrowing func freePages() throws(LMDBError) -> Int {
        unsafe try snapshot.countFreePages()
    }
}

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
    unowned(unsafe) let snapshot: Snapshot
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
    package mutating func last() throws(LMDBError) -> Bool {
        try arrive(unsafe snapshot.last(in: table), orElse: .beforeFirst)
    }

    /// Moves to the next greater key; about 50 ns.
    ///
    /// False past the last one.
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

/// One read transaction that several calls share, ended by hand.
///
/// It can be begun under a lock and used after it. Whoever holds one must neither wait for a thread that begins
/// transactions nor keep it longer than a call lasts: pages that commits free meanwhile cannot be used again.
package final class HeldRead: RowReader, @unchecked Sendable {
    // @unchecked: one thread at a time uses it, and with MDB_NOTLS a transaction may move between threads.
    @usableFromInline let environment: Environment
    @usableFromInline var reading: Environment.Reading?

    /// Takes over a transaction that has begun.
    init(_ environment: Environment, _ reading: Environment.Reading) {
        self.environment = environment
        self.reading = reading
    }

    /// Of a transaction that ``begin()`` begins.
    package init(_ environment: Environment) {
        self.environment = environment
    }

    deinit {
        precondition(reading == nil, "A read transaction was not ended.")
    }

    @inlinable
    package func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        guard let reading else { preconditionFailure("A read transaction was used after its end.") }
        return try environment.read(reading, body)
    }

    /// Begins a transaction, on the newest file; the one before has ended.
    package func begin() throws(LMDBError) {
        precondition(reading == nil, "A read transaction was not ended.")
        reading = try environment.beginRead()
    }

    /// Ends the transaction; a second call does nothing.
    package func end() {
        guard let reading else { return }
        self.reading = nil
        environment.endRead(reading)
    }
}

/// A data file on which read transactions begin.
package protocol ReadOrigin: RowReader {
    /// Begins a transaction that several calls share; the caller ends it.
    func hold() throws(LMDBError) -> HeldRead
}

extension Environment: ReadOrigin {
    package func hold() throws(LMDBError) -> HeldRead { try HeldRead(self, beginRead()) }
}

/// The data file that an environment has now, for work that reads it in many transactions.
///
/// All of them begin on this file, even when another one takes its place meanwhile: nothing that was read before is
/// contradicted by what is read afterwards, but for what was appended. A file that was replaced does not change any more.
/// Its space is free when the pin is gone, or the environment closes.
package final class PinnedFile: ReadOrigin {
    private let environment: Environment
    private let file: EnvironmentFile

    package init(_ environment: Environment) throws(LMDBError) {
        self.environment = environment
        // A transaction finds the newest file.
        let reading = try environment.beginRead()
        file = reading.file
        file.gate.pin()
        environment.endRead(reading)
    }

    deinit {
        file.gate.unpin()
    }

    package func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        let reading = try environment.beginRead(on: file)
        defer { environment.endRead(reading) }
        return try environment.read(reading, body)
    }

    package func hold() throws(LMDBError) -> HeldRead { try HeldRead(environment, environment.beginRead(on: file)) }
}

/// A read transaction of LMDB, and the commit it holds as its pages tell it.
@safe
@usableFromInline struct ReadHandle: @unchecked Sendable {
    // @unchecked: with MDB_NOTLS a read transaction may move between threads, and the gate gives it to one at a time.
    let pointer: OpaquePointer
    private let owned: Unmanaged<Snapshot>

    /// Takes the transaction over.
    init(_ pointer: OpaquePointer, _ pages: PageMap) {
        unsafe self.pointer = pointer
        unsafe owned = Unmanaged.passRetained(Snapshot(pages))
    }

    /// Not retained: it lives as long as the handle.
    @usableFromInline var snapshot: Snapshot { unsafe owned.takeUnretainedValue() }

    /// Shows the newest commit; the transaction has just begun, or was just renewed.
    ///
    /// - Returns: false when the transaction could not be renewed once more; it must be given up then.
    /// - Throws: ``LMDBError/Code/corrupted`` when the header makes no sense.
    func load() throws(LMDBError) -> Bool {
        let snapshot = snapshot
        for _ in 0..<1_000 {
            let wanted = UInt64(unsafe mdb_txn_id(pointer))
            if snapshot.pages.isPending(wanted) {
                if try loadBefore(wanted) { return true }
                continue
            }
            if snapshot.shows(wanted) { return true }
            let loading = try snapshot.load(wanted)
            if case .whole = loading { return true }
            unsafe mdb_txn_reset(pointer)
            guard unsafe mdb_txn_renew(pointer) == 0 else { return false }
            // If the newest commit is still this one, nothing had begun to overwrite its page when that was read.
            if case .perhapsTorn = loading, UInt64(unsafe mdb_txn_id(pointer)) == wanted { return true }
            snapshot.forget()
        }
        throw snapshot.pages.error(.record, page: 0, .tables)
    }

    /// Shows the commit before one that may not be on disk yet: its pages are kept for readers of that one, too.
    ///
    /// - Returns: false when that one is on disk by now.
    private func loadBefore(_ pending: UInt64) throws(LMDBError) -> Bool {
        if snapshot.shows(pending - 1) { return true }
        if case .gone = try snapshot.load(pending - 1) { return false }
        // The next commit overwrites the header's page of the one before, and begins after this one is on disk.
        atomicMemoryFence(ordering: .acquiring)
        if snapshot.pages.isPending(pending) { return true }
        snapshot.forget()
        return false
    }

    /// Ends the transaction; nothing of it may be used any more.
    func end() {
        unsafe mdb_txn_abort(pointer)
        unsafe owned.release()
    }
}
