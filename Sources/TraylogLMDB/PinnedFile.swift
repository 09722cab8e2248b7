import TraylogPages

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
        return try body(ReadTransaction(reading.handle.snapshot))
    }

    package func hold() throws(LMDBError) -> HeldRead { try HeldRead(environment, environment.beginRead(on: file)) }
}
