import CTraylogLMDB
import Glibc

extension Environment {
    /// Writes a copy of the last commit, without free pages, to an open file.
    ///
    /// Writers go on meanwhile; as with any long read transaction, the store grows by what they change. The copy also
    /// counts all pages, so copying to `/dev/null` checks the file's bookkeeping. The caller syncs the descriptor.
    ///
    /// - Throws: ``LMDBError/Code/corrupted`` when pages are lost or used twice, ``LMDBError/Code/diskFull``.
    package func compactCopy(toDescriptor descriptor: Int32) throws(LMDBError) {
        // LMDB copies what it finds, and would follow a wrong number anywhere.
        try requireSoundPages()
        reapDeadReaders()
        var result: Int32 = 0
        for _ in 0..<3 {
            let file = try use("copy") { (file) throws(LMDBError) in
                result = unsafe mdb_env_copyfd2(file.handle, descriptor, UInt32(MDB_CP_COMPACT))
                return file
            }
            guard result == MDB_MAP_RESIZED, file.remap() else { break }
        }
        if result == MDB_INCOMPATIBLE {
            throw LMDBError(
                .corrupted, operation: "copy", path: directory,
                message:
                    "The data file's list of free pages is damaged: stop writing, verify the store, and restore a "
                    + "backup.")
        }
        if result != 0 {
            throw LMDBError(result: result, operation: "copy", path: directory, descriptor: descriptor)
        }
    }

    /// Writes a copy of the last commit, without free pages, to a new file of mode 0600, safe against power loss.
    ///
    /// The file appears under its name when it is complete; a failed copy leaves none.
    ///
    /// - Parameters:
    ///   - path: the file, in an existing directory.
    ///   - replacing: whether an existing file may be replaced.
    ///   - progress: called about ten times a second with the bytes written and a guess of all of them.
    ///   - inspect: gets the path of the finished file before it has its name; what it throws ends the copy.
    /// - Throws: ``LMDBError/Code/system(_:)`` with `EEXIST` when there is a file that may not be replaced, and as
    ///   ``compactCopy(toDescriptor:)``.
    package func compactCopy(
        toPath path: String, replacing: Bool = false, progress: ((_ done: Int, _ total: Int) -> Void)? = nil,
        inspect: (String) throws(LMDBError) -> Void = { _ in }
    ) throws(LMDBError) {
        let suffix = SystemRandom.bytes(count: 8).map { String($0, radix: 16) }.joined()
        let partial = "\(path).\(suffix)\(Self.partialEnding)"
        let descriptor = unsafe Glibc.open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(errno, operation: "copy", path: path) }
        defer { Glibc.close(descriptor) }
        do throws(LMDBError) {
            guard fchmod(descriptor, 0o600) == 0 else { throw .system(errno, operation: "copy", path: partial) }
            if let progress {
                try compactCopy(toDescriptor: descriptor, progress: progress)
            } else {
                try compactCopy(toDescriptor: descriptor)
            }
            guard fsync(descriptor) == 0 else {
                throw .system(errno, operation: "copy", path: partial, descriptor: descriptor)
            }
            try inspect(partial)
            try Self.publish(partial, as: path, replacing: replacing)
        } catch {
            unsafe _ = unlink(partial)
            throw error
        }
        try Self.syncDirectory(of: path)
    }

    /// What the name of an unfinished copy ends with, after the file's own name and random digits.
    static let partialEnding = ".partial"

    /// The same while another thread copies, so that this one can tell how far it is.
    private func compactCopy(
        toDescriptor descriptor: Int32, progress: (_ done: Int, _ total: Int) -> Void
    ) throws(LMDBError) {
        let information = try information()
        let total = (information.lastPage + 1 - information.freePages) * information.pageSizeBytes
        let outcome = Monitor<Result<Void, LMDBError>?>(nil)
        let thread = OSThread.start(name: "traylog-copy") {
            let result = Result { () throws(LMDBError) in try self.compactCopy(toDescriptor: descriptor) }
            outcome.withLock { $0 = result }
            outcome.signalAll()
        }
        defer { thread.join() }
        while true {
            let result = outcome.wait(timeoutMilliseconds: 100, until: { $0 != nil }, { $0 })
            if case let result?? = result { return try result.get() }
            progress(Int(FileIdentity.status(descriptor: descriptor)?.size ?? 0), total)
        }
    }

    /// Gives a finished file its name in one step.
    private static func publish(_ partial: String, as path: String, replacing: Bool) throws(LMDBError) {
        if replacing {
            guard unsafe rename(partial, path) == 0 else { throw .system(errno, operation: "copy", path: path) }
        } else {
            guard unsafe link(partial, path) == 0 else {
                let number = errno
                // File systems of removable disks have no links.
                let hasLinks = number != EPERM && number != EOPNOTSUPP && number != ENOSYS
                if !hasLinks, FileIdentity.status(path: path, followingLinks: false) == nil {
                    return try publish(partial, as: path, replacing: true)
                }
                guard !hasLinks || number == EEXIST else { throw .system(number, operation: "copy", path: path) }
                throw LMDBError(
                    .system(EEXIST), operation: "copy", path: path,
                    message: "The file exists already: choose another name, or allow it to be replaced.")
            }
            unsafe _ = unlink(partial)
        }
    }

    private static func syncDirectory(of path: String) throws(LMDBError) {
        try syncDirectory(path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
    }

    /// Makes the names in a directory safe against power loss.
    static func syncDirectory(_ parent: String) throws(LMDBError) {
        let descriptor = unsafe Glibc.open(parent, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, operation: "sync", path: parent) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, operation: "sync", path: parent) }
    }
}
