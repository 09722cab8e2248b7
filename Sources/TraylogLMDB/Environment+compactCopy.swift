import CTraylogLMDB
import TraylogPlatform

extension Environment {
    /// Writes a copy of the last commit, without free pages, to an open file.
    ///
    /// Writers go on meanwhile; as with any long read transaction, the store grows by what they change. The copy also
    /// counts all pages, so copying to `/dev/null` checks the file's bookkeeping. The caller syncs the file.
    ///
    /// Where the data file has to be opened anew meanwhile, reads do not wait for the copy: it begins again afterwards.
    ///
    /// - Throws: ``LMDBError/Code/corrupted`` when pages are lost or used twice, ``LMDBError/Code/diskFull``.
    package func compactCopy(to file: FileDescriptor) throws(LMDBError) {
        try compactCopy(to: file, RunningCopy())
    }

    private func compactCopy(to file: FileDescriptor, _ running: RunningCopy) throws(LMDBError) {
        try requireLocksToCopy()
        // LMDB copies what it finds, and would follow a wrong number anywhere.
        try requireSoundPages()
        reapDeadReaders()
        // What a power cut left is not to be followed either.
        try waitUntilSafe()
        var result: Int32 = 0
        for attempt in 0..<Self.copiesAtMost {
            if attempt > 0 {
                try Self.checkCancellation("copy", directory)
                // A device has nothing to be taken back.
                do throws(SystemError) { try file.empty() } catch {
                    guard error == .invalidArgument else { throw .system(error, operation: "copy", path: directory) }
                }
            }
            let target = try LMDBError.attempt("copy", directory, file.duplicate())
            defer { target.close() }
            let interruption = Cancellation()
            running.begin(target)
            defer { running.end() }
            let used = try use("copy") { (used) throws(LMDBError) in
                used.gate.interruptibly({
                    interruption.cancel()
                    running.stop()
                }) {
                    result = unsafe mdb_env_copyfd2(used.handle, target.number, UInt32(MDB_CP_COMPACT))
                }
                return used
            }
            if result != 0, interruption.isCancelled { continue }
            guard result == MDB_MAP_RESIZED, used.remap() else { break }
        }
        if result == MDB_INCOMPATIBLE {
            throw LMDBError(
                .corrupted, operation: "copy", path: directory,
                message:
                    "The data file's list of free pages is damaged: stop writing, verify the store, and restore a "
                    + "backup.")
        }
        if result != 0 {
            throw LMDBError(result: result, operation: "copy", path: directory, file: file)
        }
        try waitUntilSafe()
    }

    /// A copy begins again when the data file was opened anew.
    private static let copiesAtMost = 10

    /// Refuses a copy by LMDB where no writer knows of this reader: LMDB follows whatever is in the pages meanwhile.
    func requireLocksToCopy() throws(LMDBError) {
        guard !usesLocks else { return }
        throw LMDBError(
            .permissionDenied, operation: "copy", path: directory,
            message:
                "A copy needs the store's lock files, and user \(CurrentProcess.user) cannot write them: run as the owner of "
                + "the store, or give this user read and write permission on open.lock and lock.mdb. On a medium that nobody "
                + "writes, copy the directory as it is; `traylog export` works, too.")
    }

    /// LMDB copies the newest commit, which a power cut may still take: a copy of it is good only once it cannot.
    private func waitUntilSafe() throws(LMDBError) {
        guard let pending = try use("copy", { $0.pendingCommit }) else { return }
        for _ in 0..<OpenLock.limitMilliseconds {
            guard try use("copy", { $0.pages.isPending(pending) }) else { return }
            OSThread.sleep(milliseconds: 1)
        }
        throw LMDBError(
            .system(SystemError.inputOutput.number), operation: "copy", path: directory,
            message:
                "The newest commit is not on disk after \(OpenLock.limitMilliseconds / 1_000) s, because the process that "
                + "writes the store has stopped or died: open the store for writing once, and copy it again.")
    }

    /// Writes a copy of the last commit, without free pages, to a new file of mode 0600, safe against power loss.
    ///
    /// The file appears under its name when it is complete; a failed copy leaves none.
    ///
    /// - Parameters:
    ///   - path: the file, in an existing directory.
    ///   - replacing: whether an existing file may be replaced.
    ///   - progress: called about ten times a second with the bytes written and a guess of all of them; returns false to give
    ///     the copy up.
    ///   - inspect: gets the path of the finished file before it has its name; what it throws ends the copy.
    /// - Throws: ``LMDBError/Code/system(_:)`` with `EEXIST` when there is a file that may not be replaced, and as
    ///   ``compactCopy(to:)``.
    package func compactCopy(
        toPath path: String, replacing: Bool = false, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil,
        inspect: (String) throws(LMDBError) -> Void = { _ in }
    ) throws(LMDBError) {
        let suffix = SystemRandom.bytes(count: 8).map { String($0, radix: 16) }.joined()
        let partial = "\(path).\(suffix)\(Self.partialEnding)"
        let file = try LMDBError.attempt(
            "copy", path,
            FileDescriptor(opening: partial, [.readingAndWriting, .creating, .exclusive, .refusingLinks]))
        defer { file.close() }
        do throws(LMDBError) {
            try LMDBError.attempt("copy", partial, file.setMode(0o600))
            if let progress {
                try compactCopy(to: file, progress: progress)
            } else {
                try compactCopy(to: file)
            }
            try LMDBError.attempt("copy", partial, file: file, file.sync())
            try inspect(partial)
            try Self.publish(partial, as: path, replacing: replacing)
        } catch {
            try? Files.remove(partial)
            throw error
        }
    }

    /// The ending of an unfinished copy's name, after the file's own name and random digits.
    static let partialEnding = ".partial"

    /// The same while another thread copies, so that this one can tell how far it is.
    private func compactCopy(
        to file: FileDescriptor, progress: (_ done: Int, _ total: Int) -> Bool
    ) throws(LMDBError) {
        let information = try information()
        let total = (information.lastPage + 1 - information.freePages) * information.pageSizeBytes
        let outcome = Monitor<Result<Void, LMDBError>?>(nil)
        let (cancellation, running) = (Cancellation(), RunningCopy())
        let thread: OSThread
        do {
            thread = try OSThread.start(name: "traylog-copy") {
                let result = Result { () throws(LMDBError) in
                    try Cancellation.bind(cancellation) { () throws(LMDBError) in
                        try self.compactCopy(to: file, running)
                    }
                }
                outcome.withLock { $0 = result }
                outcome.signalAll()
            }
        } catch {
            throw LMDBError(error, operation: "copy", path: directory)
        }
        defer { thread.join() }
        while true {
            let result = outcome.wait(timeoutMilliseconds: 100, until: { $0 != nil }, { $0 })
            if case let result?? = result {
                guard !cancellation.isCancelled else { throw .cancelled("copy", directory) }
                return try result.get()
            }
            if !cancellation.isCancelled, !progress(Int(file.size ?? 0), total) { cancellation.cancel() }
            if cancellation.isCancelled { running.stop() }
        }
    }

    /// Gives a finished file its name in one step, safe against power loss.
    private static func publish(_ partial: String, as path: String, replacing: Bool) throws(LMDBError) {
        do {
            try Files.publish(partial, as: path, replacing: replacing)
        } catch {
            guard error == .exists else { throw .system(error, operation: "copy", path: path) }
            throw LMDBError(
                .system(SystemError.exists.number), operation: "copy", path: path,
                message: "The file exists already: choose another name, or allow it to be replaced.")
        }
    }
}

/// A copy by LMDB on its way.
private final class RunningCopy: Sendable {
    private let target = Monitor<FileDescriptor?>(nil)

    func begin(_ file: FileDescriptor) { target.withLock { $0 = file } }
    func end() { target.withLock { $0 = nil } }

    /// Ends it: LMDB copies until a write fails.
    func stop() { target.withLock { try? $0?.refuseWrites() } }
}
