import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogQueries
@_spi(Operations) import TraylogRewrite
import TraylogStates
import TraylogWriter

extension Store {
    /// Erases a person.
    ///
    /// Afterwards no file of the store or its archives has the user's name or the content of the user's own events
    /// (texts, keys, actors, devices), not even in free pages.
    ///
    /// Kind and time of each event stay, under a pseudonym. Earlier proofs and tree heads still hold. A newcomer can get the
    /// name, with an empty tray. Answers about other users do not change, so mentions of this person in their events stay.
    ///
    /// Archives are rewritten first. Then the store is written to a new file, which replaces the old one. An erasure that
    /// was killed can be repeated, and so can one that fails because the old file cannot be removed. Values of custom projections are folded again. It does not reach backups, exports, copies
    /// of archives, or the memory of readers.
    ///
    /// It runs on a thread of the store while the task waits. A task that is cancelled before the erasure begins erases nothing;
    /// an erasure that has begun goes on to its end.
    ///
    /// ```swift
    /// let report = try await store.erase("ann", actor: "support")
    /// print(report.json)
    /// ```
    ///
    /// - Parameters:
    ///   - user: the user to erase.
    ///   - actor: the person or program that asked for it, for the `erased` event.
    ///   - device: the device it was asked from, for the same event.
    ///   - archives: the directory of the store's archives, if they were moved.
    ///   - progress: called on that thread with the number of finished steps, and of all steps.
    /// - Throws: ``TraylogError``: refused `invalid`, or `held` for a held user; failed `notFound` for a missing archive,
    ///   `busy`, `diskFull`, `damaged`, `closed`.
    /// - Complexity: reads and writes all of the store, and its archives.
    @discardableResult
    public func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil,
        progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> ErasureReport {
        try await queries.jobs.work { (_) throws(TraylogError) in
            try self.blocking.erase(
                user, actor: actor, device: device, archives: archives, progress: { progress($0, $1) })
        }
    }
}

extension Store {
    /// The time when a person with this name was last erased; nil if that was never, or more than 24 hours ago.
    ///
    /// A program that hands out credentials should refuse those that it issued to the erased person, because the name may belong
    /// to somebody else by now. The store remembers a keyed hash of the name and the time, across restarts, and even if the command
    /// line or another node of a cluster asked for the erasure. A copy made by ``StoreUpkeep/backup(to:progress:)`` does not have it.
    ///
    /// The answer is available before any event of a newcomer can be seen. It comes from memory.
    ///
    /// ```swift
    /// let issuedAt = Timestamp(milliseconds: 1_767_225_600_000)
    /// if let erasedAt = store.lastErasure(of: "ann"), issuedAt <= erasedAt { print("sign in again") }
    /// ```
    public func lastErasure(of user: String) -> Timestamp? { rewriter.erasures.last(of: user) }
}

extension BlockingStore {
    /// Erases a person; see ``Store/erase(_:actor:device:archives:progress:)``.
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - actor: the person or program that asked for it, for the `erased` event.
    ///   - archives: the directory of the store's archives, if they were moved.
    ///   - device: the device it was asked from.
    ///   - progress: called with the number of finished steps, and of all steps; throws to cancel.
    /// - Throws: as that one.
    @available(*, noasync, message: "use `await store.erase`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil,
        progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ErasureReport {
        do {
            try Limits.check(identifier: user, "user")
            try Limits.check(identifier: actor, "actor")
            try Limits.check(identifier: device, "device")
            // A compaction in between would make an archive that is not rewritten.
            return try store.rewriter.exclusively {
                try eraseAlone(user, actor: actor, device: device, archives: archives, progress)
            }
        } catch {
            throw TraylogError(error, in: store.directory)
        }
    }

    private func eraseAlone(
        _ user: String, actor: String?, device: String?, archives: String?,
        _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> ErasureReport {
        let rewriter = store.rewriter
        var report = ErasureReport()
        guard let erasure = try rewriter.erasure(of: user, actor: actor, device: device) else {
            // This may repeat an erasure that was killed, or failed, after it had taken effect.
            rewriter.erasures.end(user)
            rewriter.erasures.keep()
            try rewriter.removeFormerFiles()
            return report
        }
        let outcome = try rewriter.withoutHolds(on: erasure) {
            // Before anything else is gone: an erasure that fails here has done nothing, and can be repeated.
            try UpkeepRecord.forgetFindings(in: store.directory)
            var rewritten = try rewriter.rewriteArchives(without: erasure.stream, in: archives)
            var plan = RewritePlan()
            plan.erasure = erasure
            let outcome = try rewriter.rewrite(plan, progress)
            // What was archived meanwhile came from a log that still had it.
            try rewriter.rewriteLateSegments(without: erasure.stream, in: archives, &rewritten)
            report.archives = rewritten.names
            report.replaced = rewritten.replaced.isEmpty ? nil : rewritten.replaced
            return outcome
        }
        report.pseudonym = Pseudonym.name(ofStream: erasure.stream)
        (report.seq, report.events) = (Seq(outcome.head), outcome.erased)
        return report
    }
}
