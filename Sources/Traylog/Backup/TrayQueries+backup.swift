import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogQueries
import TraylogWriter

extension BlockingQueries {
    /// Copies the store into `directory`, in a file without free pages.
    ///
    /// Appends go on meanwhile, in this process and in others. The copy has everything that was durable when the call
    /// began. The copy is made completely, safe against power loss, or not at all. While it is written, the store does not
    /// reuse freed pages, so its own file grows.
    ///
    /// - Parameters:
    ///   - directory: outside of the store, and either empty or missing; then its parent must exist. It becomes
    ///     0700, its file 0600.
    ///   - progress: called about ten times a second with the bytes written, and about how many there are; throws to cancel, which
    ///     leaves nothing behind.
    /// - Throws: ``TraylogError/failed(_:)``: `unusableTarget`, `diskFull`, `permissionDenied` (also for a ``StoreReader`` without
    ///   locks), `damaged` (the list of
    ///   free pages), `closed`, `unfinished`, `cancelled`, `outOfThreads`.
    /// - Complexity: reads and writes all of the store.
    @available(*, noasync, message: "use `await store.upkeep.backup`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func backup(
        to directory: String, progress: ((_ done: UInt64, _ total: UInt64) throws -> Void)? = nil
    ) throws(TraylogError) -> BackupReport {
        try queries.backUp(to: directory, progress: progress)
    }
}

extension StoreUpkeep {
    /// Copies the store into `directory` on a thread of the store, while the task waits.
    ///
    /// Cancelling the task stops the copy within about a tenth of a second, and leaves nothing behind.
    @discardableResult
    public func backup(
        to directory: String, progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Void)? = nil
    ) async throws(TraylogError) -> BackupReport {
        let queries = store.queries
        return try await queries.jobs.work { (cancellation) throws(TraylogError) in
            try queries.backUp(to: directory) { done, total in
                try cancellation.check()
                progress?(done, total)
            }
        }
    }
}

extension Queries {
    fileprivate func backUp(
        to directory: String, progress: ((UInt64, UInt64) throws -> Void)?
    ) throws(TraylogError) -> BackupReport {
        var thrown: (any Error)?
        do {
            // Do not copy a store that cannot be read.
            _ = try source.head()
            let report: ((Int, Int) -> Bool)? = progress.map { progress in
                { done, total in
                    do {
                        try progress(UInt64(done), UInt64(total))
                        return true
                    } catch {
                        thrown = error
                        return false
                    }
                }
            }
            let copy = try source.environment.copyStore(to: directory, table: "log", progress: report)
            let head = copy.lastKey?.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } ?? 0
            return BackupReport(head: Seq(head), bytes: UInt64(copy.fileBytes))
        } catch {
            throw TraylogError(thrown ?? error, in: source.directory)
        }
    }
}

/// The extent of a backup.
public struct BackupReport: Hashable, Sendable, Decodable {
    /// The newest event in the backup.
    public var head: Seq
    /// The size of the backup's file.
    public var bytes: UInt64
}
