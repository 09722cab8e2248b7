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
    package init(_ snapshot: Snapshot) {
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
