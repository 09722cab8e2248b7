@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogWriter

extension BlockingQueries {
    /// Folds the log again and compares the result with the stored states.
    ///
    /// Appends and queries go on meanwhile: a state that is stored after the replay began is compared as of the beginning.
    ///
    /// - Parameter progress: called on the calling thread with the number of events folded, and of all events; throws to cancel.
    /// - Returns: the first difference, if there is one, in the order in which users came to the store.
    /// - Throws: ``TraylogError``: failed `damaged` for an event that cannot be read, `cancelled`.
    /// - Complexity: O(events): about a microsecond for each. Memory stays below 256 MiB, as long as no single user has
    ///   millions of events.
    @available(*, noasync, message: "use `await store.replay`; this call blocks a thread that tasks share")
    @_spi(Operations) public func replay(
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ReplayReport {
        let source = queries.source
        do {
            return try Replay.timed {
                try Replay.compare(source.directory, source.environment, progress: progress)
            }
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }
}

extension TrayQueries {
    /// The same on a thread of the store, while the task waits.
    ///
    /// Cancelling the task gives it up.
    ///
    /// - Parameter progress: called on that thread with the number of events folded, and of all events.
    @_spi(Operations) public func replay(
        progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> ReplayReport {
        let view = view
        return try await queries.jobs.run { () throws(TraylogError) in
            try view.replay(progress: { done, total in
                try Cancellation.checkCurrent()
                progress(done, total)
            })
        }
    }
}
