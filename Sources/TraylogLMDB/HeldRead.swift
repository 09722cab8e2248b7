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
