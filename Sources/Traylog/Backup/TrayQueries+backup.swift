import TraylogDomain
import TraylogPlatform

extension TrayQueries {
    /// Makes `directory` a store that holds all that this one holds now, in a file without free pages.
    ///
    /// Appends go on meanwhile, in this process and in others; the copy has everything that was durable when the call
    /// began. It is there as a whole, safe against power loss, or not at all. As long as it is being written, pages that
    /// commits free are not used again, so that the store's own file grows.
    ///
    /// - Parameter directory: missing (its parent is not) or empty, and outside of the store. It becomes 0700, its
    ///   file 0600.
    /// - Throws: ``TraylogError/failed(_:)``: `unusableTarget`, `diskFull`, `permissionDenied`, `damaged` (the list of
    ///   free pages), `closed`, `unfinished`.
    /// - Complexity: reads and writes all of the store.
    @discardableResult
    public func backup(to directory: String) throws(TraylogError) -> BackupReport {
        try queries.backUp(to: directory, progress: nil)
    }

    /// The same on a thread of its own, while the task waits. Cancelling the task does not end it.
    @discardableResult
    public func backup(to directory: String) async throws(TraylogError) -> BackupReport {
        let queries = queries
        let result: Result<BackupReport, TraylogError> = await withCheckedContinuation { continuation in
            _ = OSThread.start(name: "traylog-backup") {
                continuation.resume(
                    returning: Result { () throws(TraylogError) in try queries.backUp(to: directory, progress: nil) })
            }
        }
        return try result.get()
    }

    /// The blocking form, which tells how far it is in bytes, written and (about) of all.
    package func backup(
        to directory: String, progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(TraylogError) -> BackupReport {
        try queries.backUp(to: directory, progress: progress)
    }
}

extension Queries {
    fileprivate func backUp(
        to directory: String, progress: ((UInt64, UInt64) -> Void)?
    ) throws(TraylogError) -> BackupReport {
        do {
            // A store that nobody can open is not worth a copy.
            _ = try source.head()
            let report: ((Int, Int) -> Void)? = progress.map { progress in
                { done, total in progress(UInt64(done), UInt64(total)) }
            }
            let copy = try source.environment.copyStore(to: directory, table: "log", progress: report)
            let head = copy.lastKey?.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } ?? 0
            return BackupReport(head: Seq(head), bytes: UInt64(copy.fileBytes))
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }
}
