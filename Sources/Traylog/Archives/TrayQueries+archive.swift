import TraylogArchive
import TraylogDomain
import TraylogObservation
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// How the log is archived.
@_spi(Operations) public struct ArchiveOptions: Hashable, Sendable, Codable {
    /// A file is closed when its oldest event is so old, in milliseconds; 10 to 3,600,000.
    public var milliseconds: Int64 = 1_000
    /// A file is closed when its events have so many bytes before compression; 64 KiB to 1 GiB.
    ///
    /// They are in memory until the file is written.
    public var bytes = 4 << 20
    /// A command of the shell that copies a finished file elsewhere; nil to make no copies.
    ///
    /// `%p` is the file's path, `%f` its name, `%%` a percent sign. Exit status 0 says that the copy is safe. Until then the file is
    /// kept, and the command is run again: after a second, and then after twice as long each time, a minute at most.
    public var ship: String?
    /// A command that deletes a copy that others have replaced, where `%f` is its name; nil to leave that to somebody.
    public var shipDelete: String?
    /// How long either command may take, in seconds, before it is ended; 1 to 86,400.
    public var shipSeconds: Int64 = 300

    /// A second, or 4 MiB; no copies.
    public init() {}

    fileprivate func check() throws(Refusal) {
        func check(_ field: String, _ value: Int64, _ range: ClosedRange<Int64>) throws(Refusal) {
            guard !range.contains(value) else { return }
            throw .invalid(field: field, reason: "must be \(range.lowerBound) to \(range.upperBound), not \(value)")
        }
        try check("milliseconds", milliseconds, 10...3_600_000)
        try check("bytes", Int64(bytes), 65_536...(1 << 30))
        try check("shipSeconds", shipSeconds, 1...86_400)
    }
}

extension StoreUpkeep {
    /// Archives the log as files, and goes on with each new event until the task is cancelled or the store is closed.
    ///
    /// The files are never changed and never overwritten, so that any tool can copy them elsewhere. Each has every event from its
    /// first to its last, as the log has them, compressed, checksummed, with the tree head after the last one. A file is there once
    /// it is safe on disk: a second after its first event at the latest, or with 4 MiB of events. `traylog restore` makes the log
    /// again from them, byte for byte, through any event or time.
    ///
    /// It only reads the store, so it can run in another process than the writer. Killed at any moment, it goes on where the files
    /// end. A store that was restored from a copy adds its events as a branch of their own.
    ///
    /// Cancelling the task archives what is there by then, as far as that takes less than a second, and returns.
    ///
    /// ```swift
    /// let archiving = Task { try await store.upkeep.archive(to: "/mnt/archive/shop") }
    /// // Later, when the program ends:
    /// archiving.cancel()
    /// print(try await archiving.value)
    /// ```
    ///
    /// - Parameter directory: outside of the store; created with mode 0700 if it is missing. One directory has the log of one store.
    /// - Returns: the last archived event.
    /// - Throws: ``TraylogError/failed(_:)``: `busy` while somebody else archives there, `foreignFile` for the archive of another
    ///   store, `diverged` for one that has other events of this store, `notFound` for events that a compaction took before they were
    ///   archived, `diskFull`, `permissionDenied` where the store's directory cannot be written, `damaged`. Call it again to go on.
    /// - Complexity: reads each event once, on a thread of low priority. The first call hashes the part of the Merkle tree that is not
    ///   stored.
    @discardableResult
    public func archive(to directory: String) async throws(TraylogError) -> Seq {
        try await archive(to: directory, ArchiveOptions(), onFile: { _ in }, onProblem: { _ in })
    }

    /// The same with options.
    ///
    /// Small files of past hours and days are joined, and files are copied elsewhere, beside the archiving.
    ///
    /// - Parameters:
    ///   - onFile: called for each new file, on a thread of the store.
    ///   - onProblem: called, on such a thread, when copying or joining files fails, and with nil when it works again; it is tried
    ///     again.
    @discardableResult
    @_spi(Operations) public func archive(
        to directory: String, _ options: ArchiveOptions, onFile: @escaping @Sendable (Archives.File) -> Void,
        onProblem: @escaping @Sendable (String?) -> Void
    ) async throws(TraylogError) -> Seq {
        let queries = store.queries
        // Before the first look at the log.
        var following = Following(nil)
        guard
            let signal = try following.signal(
                in: queries.source.directory,
                { () throws(ThreadRefused) in
                    try queries.hub.observeLog()
                })
        else { throw .closed(queries.source.directory) }
        let archiver = try await queries.jobs.work { (_) throws(TraylogError) in
            Handover(try queries.archiver(to: directory, options, onFile: onFile))
        }
        let keeping = Task { await queries.keep(ArchiveKeeper(archiver.value.directory, options), onProblem) }
        let through: Result<Seq, TraylogError>
        do throws(TraylogError) {
            through = .success(try await queries.follow(archiver, options, &following, signal))
        } catch {
            through = .failure(error)
        }
        // It works in the directory that the archiver has to itself.
        keeping.cancel()
        await keeping.value
        return try through.get()
    }
}

extension Queries {
    /// Archives what comes, until the task is cancelled or the store is closed.
    fileprivate func follow(
        _ archiver: Handover<LogArchiver>, _ options: ArchiveOptions, _ following: inout Following, _ signal: Signal
    ) async throws(TraylogError) -> Seq {
        var through = Seq.zero
        while !Task.isCancelled {
            let progress: LogArchiver.Progress
            do {
                progress = try await step(archiver, closes: false)
            } catch .failed(let failure) where failure.code == .cancelled {
                break
            } catch .failed(let failure) where failure.code == .closed {
                return through
            }
            through = Seq(progress.through)
            if let left = progress.millisecondsLeft {
                // Looks several times, so that a file does not become much larger than it may.
                let pause = max(min(left, options.milliseconds / 4), 1)
                try? await Task.sleep(for: .milliseconds(pause))
            } else {
                guard await signal.wait() else { break }
            }
        }
        try? following.end()
        guard !signal.isEnded else { return through }
        // In a task of its own, because this one is cancelled.
        let last = Task { () -> Result<UInt64, TraylogError> in
            do throws(TraylogError) {
                return .success(try await self.step(archiver, closes: true, within: .milliseconds(800)).through)
            } catch {
                return .failure(error)
            }
        }
        return Seq(try await last.value.get())
    }
}

extension BlockingQueries {
    /// Archives the log through its head, joins small files, and makes the copies that are missing; see
    /// ``StoreUpkeep/archive(to:)``, which goes on.
    ///
    /// - Parameter onFile: called for each file.
    /// - Returns: the last archived event.
    /// - Throws: as that one; `unavailable` when a copy cannot be made.
    @available(*, noasync, message: "use `await store.upkeep.archive`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func archive(
        to directory: String, _ options: ArchiveOptions = ArchiveOptions(),
        onFile: @escaping (Archives.File) -> Void = { _ in }
    ) throws(TraylogError) -> Seq {
        do {
            var archiver = try queries.archiver(to: directory, options, onFile: onFile)
            let through = Seq(try archiver.step(closes: true).through)
            var keeper = ArchiveKeeper(archiver.directory, options)
            keeper.step()
            if let problem = keeper.problem { throw StoreFailure(code: .unavailable, message: problem) }
            return through
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
    }
}

extension Queries {
    fileprivate func archiver(
        to directory: String, _ options: ArchiveOptions, onFile: @escaping (Archives.File) -> Void
    ) throws(TraylogError) -> LogArchiver {
        do {
            try options.check()
            return try LogArchiver(self, to: directory, options, onFile: onFile)
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }

    /// Runs a step on a thread of low priority, so that the writer and its callers go first.
    ///
    /// - Parameter time: stops before the head after so long.
    fileprivate func step(
        _ archiver: Handover<LogArchiver>, closes: Bool, within time: Duration? = nil
    ) async throws(TraylogError) -> LogArchiver.Progress {
        let directory = source.directory
        let end = time.map { ContinuousClock.now + $0 }
        return try await jobs.work { (cancellation) throws(TraylogError) in
            do {
                return try Handover.inBackground {
                    try archiver.value.step(closes: closes) {
                        cancellation.isCancelled || end.map { ContinuousClock.now >= $0 } ?? false
                    }
                }
            } catch {
                throw TraylogError(error, in: directory)
            }
        }
    }
}

extension Queries {
    /// Joins and copies files until the task is cancelled.
    fileprivate func keep(_ keeper: ArchiveKeeper, _ onProblem: @escaping @Sendable (String?) -> Void) async {
        let (directory, cancellation, keeper) = (source.directory, Cancellation(), Handover(keeper))
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                let before = keeper.value.problem
                // Not on a thread that other jobs wait for: a command may hang. Without a thread, the next time will do.
                try? await onThread(in: directory) { keeper.value.step { cancellation.isCancelled } }
                let problem = keeper.value.problem
                if problem != before, !Task.isCancelled { onProblem(problem) }
                try? await Task.sleep(for: .milliseconds(keeper.value.pauseMilliseconds))
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
