import CTraylogLMDB

/// One snapshot of all databases.
///
/// It exists only inside ``Environment/read(_:)``: being noncopyable and lent to the closure, it cannot be stored.
/// While it lives, pages that later commits free cannot be reused, so a long one makes the file grow: keep it under
/// 250 ms, and resume a long scan by key in a new one.
@safe
@usableFromInline package struct ReadTransaction: ~Copyable {
    @usableFromInline let reads: TransactionReads

    @inlinable
    init(handle: OpaquePointer, environment: Environment) {
        reads = unsafe TransactionReads(handle: handle, environment: environment)
    }

    /// The number of the commit that the snapshot shows.
    package var id: UInt64 {
        UInt64(unsafe mdb_txn_id(reads.handle))
    }

    /// Calls `body` with the value of `key`, in place; nil when the key is not stored.
    ///
    /// - Complexity: O(log n); nothing is copied.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: RawSpan, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        try reads.get(database, key, body)
    }

    /// The same for a key of eight big-endian bytes.
    @inlinable
    package borrowing func get<R: ~Copyable>(
        _ database: Database, _ key: UInt64, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        try reads.get(database, key, body)
    }

    /// Lends a cursor without a position over `database`; opening one costs about 100 ns.
    @inlinable
    package borrowing func withCursor<R: ~Copyable>(
        _ database: Database, _ body: (inout Cursor) throws -> R
    ) throws -> R {
        try reads.withCursor(database, body)
    }

    /// - Complexity: O(1).
    package borrowing func statistics(_ database: Database) -> DatabaseStatistics {
        reads.statistics(database)
    }
}
