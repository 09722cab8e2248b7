@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogWriter

extension BlockingQueries {
    /// Checks the whole store: its pages, events, order and times, each stored state against the fold
    /// of the log, projections, and the Merkle tree.
    ///
    /// Appends and queries go on meanwhile.
    ///
    /// - Parameters:
    ///   - archives: a directory with archives of the store, which are checked, too.
    ///   - progress: called on the calling thread with the number of finished steps, and of all steps; throws to cancel, which
    ///     takes effect with the next part of the scan.
    /// - Throws: ``TraylogError``: failed `closed`, `permissionDenied`, `cancelled`. Damage is a finding, not an error.
    /// - Complexity: reads all of the file, and folds the log.
    @available(*, noasync, message: "use `await store.upkeep.verify`; this call blocks a thread that tasks share")
    @_spi(Operations) public func verify(
        archives: String? = nil, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> VerificationReport {
        let source = queries.source
        let cancellation = Cancellation.current ?? Cancellation()
        var thrown: (any Error)?
        do {
            return try Cancellation.bind(cancellation) {
                try Verification.run(source.directory, source.environment, archives: archives) { done, total in
                    do {
                        if thrown == nil { try progress(done, total) }
                    } catch {
                        thrown = error
                        cancellation.cancel()
                    }
                }
            }
        } catch {
            throw TraylogError(thrown ?? error, in: source.directory)
        }
    }
}

extension StoreUpkeep {
    /// Checks on a thread of the store, while the task waits.
    ///
    /// Cancelling the task stops the check at the next part of its scan.
    public func verify(
        archives: String? = nil, progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> VerificationReport {
        let view = store.view
        return try await store.queries.jobs.run { () throws(TraylogError) in
            try view.verify(archives: archives, progress: { progress($0, $1) })
        }
    }
}
