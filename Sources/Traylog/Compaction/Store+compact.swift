import TraylogDomain
import TraylogLMDB

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
    ///     floor nothing happens.
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
            return try exclusively {
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
        goal.floor = try floor(before: moment, present)
        goal.archiveDirectory = isDryRun ? nil : archive
        goal.isDryRun = isDryRun
        var report = CompactionReport(floor: max(present.seq, Seq(goal.floor)))
        report.bytesBefore = try bytes()
        report.bytesAfter = report.bytesBefore
        guard goal.floor > max(present.seq.rawValue, 1) else { return report }
        let outcome = try rewrite(goal, progress)
        report.dropped = outcome.dropped
        for (number, count) in outcome.droppedKinds where count > 0 {
            if let kind = EventKind(rawValue: number) { report.kinds[kind] = count }
        }
        report.archive = outcome.archive
        report.bytesAfter = isDryRun ? outcome.bytes : try bytes()
        return report
    }

    private func floor(before moment: Moment, _ present: Floor) throws -> UInt64 {
        do {
            return try queries.source.seq(of: moment) ?? 0
        } catch Refusal.compacted {
            return present.seq.rawValue
        }
    }

    private func bytes() throws -> UInt64 { UInt64(try queries.source.environment.information().fileBytes) }

    /// Lets one caller at a time rewrite the store or its archives.
    func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        let isFirst = rewriting.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFirst else {
            throw StoreFailure(
                code: .busy, message: "\(directory): a compaction or an erasure is under way; wait for its end")
        }
        defer { rewriting.withLock { $0 = false } }
        return try body()
    }

    /// Writes the store anew; only within ``exclusively(_:)``.
    func rewrite(
        _ goal: RewriteGoal, _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> StoreRewrite.Outcome {
        let source = queries.source
        let rewrite = StoreRewrite(
            directory: directory, environment: source.environment, tables: source.tables, writer: writer, goal: goal,
            progress: progress)
        return try rewrite.run()
    }
}
