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
    func compactCopy(to file: FileDescriptor) throws(LMDBError) {
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
    func compactCopy(
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

    /// The result of copying a whole store.
    package struct Copy: Hashable, Sendable {
        package var fileBytes: Int
        /// The greatest key of the table that was asked about; nil when it is empty.
        package var lastKey: [UInt8]?
    }

    /// Makes a directory a store with the last commit, without free pages, safe against power loss.
    ///
    /// Writers go on meanwhile, in this process and in others. The directory holds no store until all of it is there;
    /// killed before, it holds a file that the next copy to it takes away. A copy that fails leaves nothing.
    ///
    /// - Parameters:
    ///   - directory: missing or empty, outside of this store.
    ///   - table: the one of which the copy's last key is wanted.
    ///   - progress: as for ``compactCopy(toPath:replacing:progress:inspect:)``.
    /// - Throws: ``LMDBError/Code/unusableTarget``, and as ``compactCopy(to:)``.
    package func copyStore(
        to directory: String, table: String, progress: ((_ done: Int, _ total: Int) -> Bool)? = nil
    ) throws(LMDBError) -> Copy {
        try requireLocksToCopy()
        let target = try CopyTarget.prepare(directory, outside: self.directory)
        var copy = Copy(fileBytes: 0, lastKey: nil)
        do throws(LMDBError) {
            try compactCopy(toPath: target.dataPath, progress: progress) { (path) throws(LMDBError) in
                copy.fileBytes = Int((try? FileStatus(path: path))?.size ?? 0)
                copy.lastKey = try CopiedFile.lastKey(of: table, path: path)
            }
            try target.sync()
        } catch {
            target.remove()
            throw error
        }
        return copy
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

/// A data file that nobody else writes, looked at without the lock file that a store has.
enum CopiedFile {
    /// The greatest key of a table; nil when that is empty.
    ///
    /// - Throws: ``LMDBError/Code/missingDatabase`` and what else keeps LMDB from reading the file.
    static func lastKey(of table: String, path: String) throws(LMDBError) -> [UInt8]? {
        try unsafe read(path) { (transaction) throws(LMDBError) in
            var database = MDB_dbi()
            try check(unsafe mdb_dbi_open(transaction, table, 0, &database), path)
            return try unsafe lastKey(transaction, database, path)
        }
    }

    @unsafe private static func read<R>(
        _ path: String, _ body: (OpaquePointer) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        var created: OpaquePointer?
        try check(unsafe mdb_env_create(&created), path)
        guard let handle = unsafe created else { throw LMDBError.system(.outOfMemory, operation: "open", path: path) }
        defer { unsafe mdb_env_close(handle) }
        unsafe mdb_env_set_maxdbs(handle, 1)
        let flags = UInt32(MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK)
        try check(unsafe mdb_env_open(handle, path, flags, 0o600), path)
        var opened: OpaquePointer?
        try check(unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &opened), path)
        guard let transaction = unsafe opened else {
            throw LMDBError.system(.outOfMemory, operation: "open", path: path)
        }
        defer { unsafe mdb_txn_abort(transaction) }
        return try unsafe body(transaction)
    }

    private static func lastKey(
        _ transaction: OpaquePointer, _ database: MDB_dbi, _ path: String
    ) throws(LMDBError) -> [UInt8]? {
        var cursor: OpaquePointer?
        try check(unsafe mdb_cursor_open(transaction, database, &cursor), path)
        defer { unsafe mdb_cursor_close(cursor) }
        var (key, value) = unsafe (MDB_val(), MDB_val())
        let result = unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST)
        if result == MDB_NOTFOUND { return nil }
        try check(result, path)
        return unsafe Array(Entry.buffer(key))
    }

    private static func check(_ result: Int32, _ path: String) throws(LMDBError) {
        if result != 0 { throw LMDBError(result: result, operation: "check a copy", path: path) }
    }
}

/// The directory that a copy of a store goes to: it was missing or empty, and is kept for this copy alone.
///
/// `CURRENT` is there from the beginning and names a directory that gets its data file last, so that there is no store
/// before all of it is.
struct CopyTarget: ~Copyable {
    let directory: String
    /// Whether it was made for the copy.
    private let isNew: Bool
    /// The directory, with a lock.
    private let file: FileDescriptor

    private var store: StoreDirectory { StoreDirectory(path: directory) }
    private var environment: EnvironmentDirectory { EnvironmentDirectory(store: directory, number: 1) }
    var dataPath: String { environment.dataPath }

    /// Makes the directory (0700) where it is missing, and takes away what copies left that were killed.
    ///
    /// - Throws: ``LMDBError/Code/unusableTarget`` and ``LMDBError/Code/permissionDenied``.
    static func prepare(_ directory: String, outside store: String) throws(LMDBError) -> CopyTarget {
        guard !directory.isEmpty else {
            throw LMDBError(
                .unusableTarget, operation: "copy", message: "The name of the directory is empty: give its path.")
        }
        var directory = directory
        while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
        try check(directory, isOutside: store)
        let isNew = try make(directory)
        do throws(LMDBError) {
            let target = CopyTarget(directory: directory, isNew: isNew, file: try lock(directory))
            try target.checkIsFree()
            try target.begin()
            return target
        } catch {
            if isNew { try? Files.removeDirectory(directory) }
            throw error
        }
    }

    deinit {
        file.close()
    }

    /// Makes the names safe against power loss; those beside the data file are synced with that.
    func sync() throws(LMDBError) {
        try store.syncNames()
        if isNew { try LMDBError.attempt("sync", directory, Files.sync(directory + "/..")) }
    }

    /// Takes away what was made for this copy.
    func remove() {
        store.clear()
        if isNew { try? Files.removeDirectory(directory) }
    }

    private func begin() throws(LMDBError) {
        do throws(LMDBError) {
            store.clear()
            try store.writeNext(environment, like: nil)
            try store.switchToNext()
            try LMDBError.attempt("copy", environment.path, Files.createDirectory(environment.path))
        } catch {
            store.clear()
            throw error
        }
    }

    /// Nothing may stand in the way but what copies left that were killed: they have no data file yet.
    private func checkIsFree() throws(LMDBError) {
        for name in try names(directory) where !store.beginsWith(name) { throw isNotEmpty(name) }
        guard Files.exists(environment.path) else { return }
        for name in try names(environment.path)
        where !name.hasPrefix("data.mdb.") || !name.hasSuffix(Environment.partialEnding) {
            throw isNotEmpty("\(environment.name)/\(name)")
        }
    }

    private func names(_ directory: String) throws(LMDBError) -> [String] {
        do {
            return try Files.names(in: directory)
        } catch {
            throw Self.failure(error, directory)
        }
    }

    private func isNotEmpty(_ name: String) -> LMDBError {
        Self.unusable(directory, "is not empty (it has \(name)): choose a directory that is, or a new one.")
    }

    /// A copy inside of the store would be taken for a part of it.
    private static func check(_ directory: String, isOutside store: String) throws(LMDBError) {
        let inner = identity(store)
        // What does not exist yet lies where its name says.
        var path = identity(directory) == nil ? Files.parent(of: directory) : directory
        while let here = identity(path) {
            if here == inner {
                throw unusable(directory, "is the store itself, or inside of it: choose a directory elsewhere.")
            }
            path += "/.."
            if identity(path) == here { return }
        }
    }

    private static func identity(_ path: String) -> FileIdentity? { (try? FileStatus(path: path))?.identity }

    /// - Returns: whether it was missing.
    private static func make(_ directory: String) throws(LMDBError) -> Bool {
        do {
            if try Files.createDirectory(directory) { return true }
        } catch {
            throw failure(error, directory)
        }
        guard (try? FileStatus(path: directory))?.isDirectory == true else {
            throw unusable(directory, "is not a directory: choose another name.")
        }
        return false
    }

    private static func lock(_ directory: String) throws(LMDBError) -> FileDescriptor {
        let file: FileDescriptor
        do {
            file = try FileDescriptor(opening: directory, [.reading, .directory])
        } catch {
            throw failure(error, directory)
        }
        do {
            try file.lock()
        } catch {
            // Some network file systems lock no directories; a copy there must do without.
            guard error == .tryAgain else { return file }
            file.close()
            throw unusable(directory, "gets another copy at this moment: choose another one.")
        }
        return file
    }

    private static func failure(_ error: SystemError, _ directory: String) -> LMDBError {
        switch error {
        case .noEntry:
            unusable(directory, "cannot be made, because the directory above it is missing: make that first.")
        case .accessDenied, .notPermitted, .readOnlyFileSystem:
            LMDBError(
                .permissionDenied, operation: "copy", path: directory,
                message:
                    "Nothing can be written here (\(error)): choose another directory, or run as its "
                    + "owner.")
        default: .system(error, operation: "copy", path: directory)
        }
    }

    private static func unusable(_ directory: String, _ reason: String) -> LMDBError {
        LMDBError(.unusableTarget, operation: "copy", path: directory, message: "The directory \(reason)")
    }
}
