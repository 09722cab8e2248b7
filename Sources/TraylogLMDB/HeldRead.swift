import TraylogPages

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
        return try body(ReadTransaction(reading.handle.snapshot))
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
