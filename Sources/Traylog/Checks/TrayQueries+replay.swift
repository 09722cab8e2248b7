@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogWriter

extension BlockingQueries {
    /// Folds the log anew and compares what is stored with what comes out.
    ///
    /// Appends and queries go on meanwhile: a state that is stored newer than the replay began is compared as of then.
    ///
    /// - Parameters:
    ///   - threads: one or two, other numbers count as the nearer of them; as many as there are processors when nil. The
    ///     outcome does not depend on it.
    ///   - progress: told on the calling thread how many events are folded, of how many; throws to give up.
    /// - Returns: the first difference, if there is one, in the order in which users came to the store.
    /// - Throws: ``TraylogError``: failed `damaged` for an event that cannot be read, `cancelled`.
    /// - Complexity: O(events): about a microsecond for each. Memory stays below 256 MiB, as long as no single user has
    ///   millions of events.
    @available(*, noasync, message: "use `await store.replay`; this call blocks a thread that tasks share")
    @_spi(Operations) public func replay(
        threads: Int? = nil, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ReplayReport {
        let source = queries.source
        do {
            return try Replay.timed {
                try Replay.compare(source.directory, source.environment, threads: threads, progress: progress)
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
    /// - Parameter progress: told on that thread how many events are folded, of how many.
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
