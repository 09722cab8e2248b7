import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogRewrite
import TraylogStates
import TraylogWriter

extension StoreUpkeep where Owner == Store {
    /// Moves the floor up to a moment.
    ///
    /// Events below the floor leave the log, if no query at the floor or above needs them.
    ///
    /// Items that are gone or deleted leave, and so does everything below the floor that the states hold. The content of
    /// items that somebody may still see stays. Every answer about the floor and later is unchanged; the compaction checks
    /// that before anything leaves. Queries below the floor are refused with ``Refusal/compacted(floor:archive:)``, as is
    /// undoing an event or restoring an item from there.
    ///
    /// The store is written to a new file, which then replaces the old one, so the store is smaller at once. Appends
    /// and queries go on meanwhile, in other processes, too. If the process is killed, the store is as it was before the
    /// compaction or as it is after it.
    ///
    /// It runs on a thread of the store while the task waits. Cancelling the task cancels the compaction, which then changes
    /// nothing. Once the new file has replaced the old one, the call returns the report instead.
    ///
    /// ```swift
    /// let report = try await store.upkeep.compact(before: .daysAgo(90), archive: "/var/lib/shop/archives")
    /// print(report.json)
    /// ```
    ///
    /// - Parameters:
    ///   - moment: the floor, or a time; then the floor is the newest event that a query of that time sees. At or below the
    ///     present floor no event leaves, and the file is rewritten only if it has many free pages.
    ///   - archive: a directory for a file with the events that leave; nil to delete them permanently. Where the log is archived
    ///     there (``StoreUpkeep/archive(to:)``), they are there already, and nothing is written twice.
    ///   - isDryRun: does everything except the last step, and writes no archive.
    ///   - onlyIfSmaller: changes nothing where the file would become larger (``CompactionReport/isWorthIt``).
    ///   - actor: the person or program that asked for it, for the `compacted` event.
    ///   - device: the device it was asked from, for the same event.
    ///   - progress: called on that thread with the number of finished steps, and of all steps.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; failed `damaged` when the states differ from the log,
    ///   `diskFull`, `busy` while another compaction or an erasure runs and when somebody was held or released meanwhile, `closed`.
    /// - Complexity: reads the log a few times, and writes the events that stay. For each event that leaves, a hash of 32 bytes
    /// stays in the file, so that proofs and tree heads hold.
    @discardableResult
    public func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false, onlyIfSmaller: Bool = false,
        actor: String? = nil, device: String? = nil,
        progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> CompactionReport {
        try await store.queries.jobs.work { [blocking = store.blocking] (cancellation) throws(TraylogError) in
            try blocking.compact(
                before: moment, archive: archive, isDryRun: isDryRun, onlyIfSmaller: onlyIfSmaller, actor: actor,
                device: device
            ) { done, total in
                try cancellation.check()
                progress(done, total)
            }
        }
    }
}

extension Store {
    fileprivate func compactAlone(
        before moment: Moment, _ plan: RewritePlan, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> CompactionReport {
        let present = try queries.source.read { $0.record.floor }
        var plan = plan
        plan.floor = try rewriter.floor(before: moment)
        if plan.floor <= max(present.seq.rawValue, 1) {
            plan.floor = 0
            guard try isWorthShrinking() else { return try rewriter.unchanged(present.seq, isDryRun: plan.isDryRun) }
        }
        if plan.floor > 1, let directory = plan.archiveDirectory { try archive(through: plan.floor - 1, to: directory) }
        return try rewriter.compact(plan, progress)
    }

    /// Brings an archive of the log up to an event, or waits for whoever does that.
    private func archive(through last: UInt64, to directory: String) throws {
        guard SegmentDirectory.isOne(directory) else { return }
        let end = ContinuousClock.now + .seconds(10)
        while true {
            do throws(TraylogError) {
                _ = try blocking.archive(to: directory)
                return
            } catch .failed(let failure) where failure.code == .busy {
                let history = try queries.answer { $0.record.history }
                let chain = SegmentChain(try SegmentDirectory(directory).segments(), of: history)
                guard chain.through < last, ContinuousClock.now < end else { return }
                OSThread.sleep(milliseconds: 50)
            }
        }
    }

    /// Whether there are enough free pages to rewrite the file only for them.
    private func isWorthShrinking() throws -> Bool {
        let statistics = try queries.source.statistics(checkingStates: false)
        return statistics.freeBytes >= 1 << 20 && statistics.freeBytes >= statistics.bytes / 4
    }
}

extension BlockingStore {
    /// Moves the floor up to a moment; see ``StoreUpkeep/compact(before:archive:isDryRun:onlyIfSmaller:actor:device:progress:)``.
    ///
    /// - Parameters:
    ///   - archive: a directory for a file with the events that leave; nil to delete them permanently.
    ///   - isDryRun: does everything except the last step.
    ///   - onlyIfSmaller: changes nothing where the file would become larger.
    ///   - actor: the person or program that asked for it.
    ///   - device: the device it was asked from.
    ///   - moment: the floor, or a time.
    ///   - progress: called on another thread with the number of finished steps, and of all steps; throws to cancel.
    /// - Throws: as that one.
    @available(*, noasync, message: "use `await store.upkeep.compact`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func compact(
        before moment: Moment, archive: String? = nil, isDryRun: Bool = false, onlyIfSmaller: Bool = false,
        actor: String? = nil, device: String? = nil,
        progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> CompactionReport {
        do {
            try Limits.check(identifier: actor, "actor")
            try Limits.check(identifier: device, "device")
            if archive?.isEmpty == true { throw Refusal.invalid(field: "archive", reason: "must not be empty") }
            var plan = RewritePlan()
            plan.archiveDirectory = isDryRun ? nil : archive
            (plan.isDryRun, plan.isOnlyIfSmaller) = (isDryRun, onlyIfSmaller)
            (plan.actor, plan.device) = (actor, device)
            return try store.rewriter.exclusively { try store.compactAlone(before: moment, plan, progress) }
        } catch {
            throw TraylogError(error, in: store.directory)
        }
    }
}
