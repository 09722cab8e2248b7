import TraylogDomain
import TraylogPlatform

extension Store {
    /// Moves the floor up to a moment: events below it that no query at the floor or above needs leave the log.
    ///
    /// What goes are items that are gone or deleted, and everything that happened below the floor and is in the states by
    /// then; the texts of items that somebody may still see stay. Every answer, of now and of any moment from the floor on,
    /// is the same as before, which is checked before anything goes. Below the floor, queries are refused with
    /// ``Refusal/compacted(floor:archive:)``, and so are undoing an event and restoring an item from there.
    ///
    /// The store is written anew beside itself, and the new file takes the place of the old one, so that it is smaller at
    /// once. Appends and queries go on meanwhile, also in other processes. Killed at any moment, the store is as it was
    /// before or after.
    ///
    /// - Parameters:
    ///   - moment: the floor, or a time: the floor is then what a query of that time sees last. At or below the present
    ///     floor nothing leaves the log, and only a file with many free pages is made smaller.
    ///   - archive: a directory where a file with the events that leave is put first; nil to let them go for good.
    ///   - isDryRun: does everything but the last step, and writes no archive.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; failed `damaged` when the states are not what the log gives,
    ///   `diskFull`, `busy` while another compaction or an erasure runs, `closed`.
    /// - Complexity: reads all of the log, writes what stays.
    @discardableResult
    public func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false
    ) throws(TraylogError) -> CompactionReport {
        try compact(before: moment, archive: archive, isDryRun: isDryRun, progress: { _, _ in })
    }

    /// The same on a thread of its own, while the task waits. Cancelling the task gives it up, and changes nothing.
    @discardableResult
    public func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false
    ) async throws(TraylogError) -> CompactionReport {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                _ = OSThread.start(name: "traylog-compact") {
                    continuation.resume(
                        returning: Result { () throws(TraylogError) in
                            try self.compact(before: moment, archive: archive, isDryRun: isDryRun) { _, _ in
                                try cancellation.check()
                            }
                        })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }.get()
    }

    /// The blocking form, which tells how far it is in steps, done and of all.
    ///
    /// - Parameter progress: what it throws gives the compaction up.
    package func compact(
        before moment: Moment, archive: String?, isDryRun: Bool, progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws(TraylogError) -> CompactionReport {
        do {
            return try rewriter.exclusively {
                try compactAlone(before: moment, archive: archive, isDryRun: isDryRun, progress)
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private func compactAlone(
        before moment: Moment, archive: String?, isDryRun: Bool, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> CompactionReport {
        let present = try queries.source.basis().floor
        var goal = RewriteGoal()
        goal.floor = try rewriter.floor(before: moment)
        goal.archiveDirectory = isDryRun ? nil : archive
        goal.isDryRun = isDryRun
        if goal.floor <= max(present.seq.rawValue, 1) {
            goal.floor = 0
            guard try isWorthShrinking() else {
                var report = CompactionReport(floor: present.seq)
                report.bytesBefore = try rewriter.bytes()
                report.bytesAfter = report.bytesBefore
                return report
            }
        }
        return try rewriter.compact(goal, progress)
    }

    /// Whether free pages take so much of the file that it is worth being written anew for them alone.
    private func isWorthShrinking() throws -> Bool {
        let statistics = try queries.source.statistics()
        return statistics.freeBytes >= 1 << 20 && statistics.freeBytes >= statistics.bytes / 4
    }
}
