import CTraylogLMDB

/// The one writer an environment has at a time.
///
/// It exists only inside ``Environment/write(_:)``: being noncopyable and lent to the closure, it cannot be stored,
/// so no write can happen after the commit. A write that fails poisons the transaction: even if its error is caught,
/// the transaction is given up at the end and ``Environment/write(_:)`` throws that first error.
@safe
@usableFromInline package struct WriteTransaction: ~Copyable {
    @usableFromInline let reads: TransactionReads
    /// The first write that failed.
    @usableFromInline var poison: LMDBError?

    @inlinable
    init(handle: OpaquePointer, environment: Environment) {
        reads = unsafe TransactionReads(handle: handle, environment: environment)
        poison = nil
    }

    /// The number this transaction has once committed.
    package var id: UInt64 {
        UInt64(unsafe mdb_txn_id(reads.handle))
    }

    /// Calls `body` with the value of `key`, in place and with this transaction's own changes; nil when there is none.
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

    /// Lends a cursor without a position over `database`; nothing can be written while it exists.
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
