import TraylogArchive
import TraylogDomain
import TraylogPlatform
import TraylogLog

extension Store {
    /// Erases a person: afterwards the user's name, and whatever the user's own events say (content, keys, actors,
    /// devices), stand in no file of the store or its archives, not even in free pages.
    ///
    /// What stays is a skeleton in the history of a pseudonym: that there were events, of which kinds, and when; proofs
    /// and tree heads from before still hold. The name is free for a newcomer with an empty tray. Answers about others stay
    /// as they are, so that what others' events say of this person stays, too.
    ///
    /// Archives are rewritten first, then the store is written anew beside itself and takes the place of the old one.
    /// Killed at any moment, it can be repeated. Values of custom projections are folded anew. It cannot reach backups,
    /// exports, copies of archives, and what readers hold in memory.
    ///
    /// - Parameters:
    ///   - actor: who asks for it, for the `erased` event.
    ///   - archives: where the store's archives are, if they were moved.
    /// - Throws: ``TraylogError``: refused `invalid`; failed `notFound` for an archive that is not where it was put,
    ///   `busy`, `diskFull`, `damaged`, `closed`.
    /// - Complexity: reads and writes all of the store, and its archives.
    @discardableResult
    public func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil
    ) throws(TraylogError) -> ErasureReport {
        try erase(user, actor: actor, device: device, archives: archives, progress: { _, _ in })
    }

    /// The same on a thread of its own, while the task waits. Cancelling the task does not end it.
    @discardableResult
    public func erase(
        _ user: String, actor: String? = nil, device: String? = nil, archives: String? = nil
    ) async throws(TraylogError) -> ErasureReport {
        let result: Result<ErasureReport, TraylogError> = await withCheckedContinuation { continuation in
            _ = OSThread.start(name: "traylog-erase") {
                continuation.resume(
                    returning: Result { () throws(TraylogError) in
                        try self.erase(user, actor: actor, device: device, archives: archives) { _, _ in }
                    })
            }
        }
        return try result.get()
    }

    /// The blocking form, which tells how far it is in steps, done and of all.
    package func erase(
        _ user: String, actor: String?, device: String?, archives: String?,
        progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws(TraylogError) -> ErasureReport {
        do {
            try Limits.check(identifier: user, "user")
            if let actor { try Limits.check(identifier: actor, "actor") }
            if let device { try Limits.check(identifier: device, "device") }
            // A compaction in between would bring an archive that nobody rewrites.
            return try rewriter.exclusively {
                try eraseAlone(user, actor: actor, device: device, archives: archives, progress)
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private func eraseAlone(
        _ user: String, actor: String?, device: String?, archives: String?,
        _ progress: @escaping (UInt64, UInt64) throws -> Void
    ) throws -> ErasureReport {
        var report = ErasureReport()
        let view = try queries.source.view(of: user, at: nil)
        // A pseudonym stands for nobody.
        guard view.pages.stream != 0, Pseudonym.stream(of: user) != view.pages.stream else { return report }
        var erasure = Erasure(user: user, stream: view.pages.stream, actor: actor, device: device)
        for entry in try view.state.keys.entries(load: view.pages.load(.keys)) {
            erasure.keyedEvents.insert(entry.seq)
        }
        report.archives = try rewriteArchives(without: erasure.stream, in: archives)
        var goal = RewriteGoal()
        goal.erasure = erasure
        let outcome = try rewriter.rewrite(goal, progress)
        report.pseudonym = Pseudonym.name(ofStream: erasure.stream)
        (report.seq, report.events) = (Seq(outcome.head), outcome.erased)
        return report
    }

    /// - Parameter moved: the directory that all archives are in, if not where they were put.
    private func rewriteArchives(without stream: UInt32, in moved: String?) throws -> [String] {
        let source = queries.source
        let (finished, pending) = try source.environment.read { transaction in
            (try source.tables.archives.all(in: transaction), try source.tables.archives.pending(in: transaction))
        }
        func path(_ archive: (name: String, directory: String)) -> String {
            "\(moved ?? archive.directory)/\(archive.name)"
        }
        // What a run that was killed left may be there or not.
        let known = finished + pending.filter { Files.exists(path($0)) }
        let paths = known.map(path)
        // All are there before any is touched.
        for path in paths { _ = try ArchiveReader.open(path) }
        var rewritten: [String] = []
        for (path, archive) in zip(paths, known) {
            let count = try ArchiveRewriter.rewrite(
                path,
                replacement: { seq, record, payload in
                    try EventLog.erasedRecord(seq, record, payload, ifOf: stream)
                })
            if count > 0 { rewritten.append(archive.name) }
        }
        return rewritten
    }
}
