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
    /// - Parameter archives: a directory with archives of the store, which are checked, too.
    /// - Throws: ``TraylogError``: failed `closed`, `permissionDenied`. Damage is a finding, not an error.
    /// - Complexity: reads all of the file, and folds the log.
    public func verify(archives: String? = nil) throws(TraylogError) -> VerificationReport {
        let source = queries.source
        do {
            return try Verification.run(source.directory, source.environment, archives: archives) { _, _ in }
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }
}

extension TrayQueries {
    /// Checks on a thread of its own, while the task waits. Cancelling the task does not end it.
    public func verify(archives: String? = nil) async throws(TraylogError) -> VerificationReport {
        try await Waiting.onThread(named: "traylog-verify") { (_) throws(TraylogError) in
            try self.view.verify(archives: archives)
        }
    }
}
