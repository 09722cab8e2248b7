import TraylogChecks
import TraylogDomain
import TraylogQueries
import TraylogWriter

extension BlockingQueries {
    /// Checks everything in the store that can be checked: its pages, events, order and times, each stored state against the fold
    /// of the log, projections, and the Merkle tree.
    ///
    /// Appends and queries go on meanwhile.
    ///
    /// - Parameters:
    ///   - archives: a directory with archives of the store, which are checked, too.
    ///   - progress: told on the calling thread how many steps are done, of how many.
    /// - Throws: ``TraylogError``: failed `closed`, `permissionDenied`. Damage is a finding, not an error.
    /// - Complexity: reads all of the file, and folds the log.
    public func verify(
        archives: String? = nil, progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(TraylogError) -> VerificationReport {
        let source = queries.source
        do {
            return try Verification.run(source.directory, source.environment, archives: archives, progress: progress)
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }
}

extension TrayQueries {
    /// Checks on a thread of its own, while the task waits.
    ///
    /// Cancelling the task does not end it.
    public func verify(
        archives: String? = nil, progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> VerificationReport {
        try await Waiting.onThread(named: "traylog-verify") { (_) throws(TraylogError) in
            try self.view.verify(archives: archives, progress: progress)
        }
    }
}
