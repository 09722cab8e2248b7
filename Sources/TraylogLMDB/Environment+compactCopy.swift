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
        reapDeadReaders()
        var result: Int32 = 0
        for _ in 0..<3 {
            result = try use("copy") { () throws(LMDBError) in
                unsafe mdb_env_copyfd2(handle, descriptor, UInt32(MDB_CP_COMPACT))
            }
            guard result == MDB_MAP_RESIZED, remap() else { break }
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
    /// - Throws: ``LMDBError/Code/system(_:)`` with `EEXIST` when there is a file that may not be replaced, and as
    ///   ``compactCopy(toDescriptor:)``.
    package func compactCopy(toPath path: String, replacing: Bool = false) throws(LMDBError) {
        let suffix = SystemRandom.bytes(count: 8).map { String($0, radix: 16) }.joined()
        let partial = "\(path).\(suffix).partial"
        let descriptor = unsafe Glibc.open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(errno, operation: "copy", path: path) }
        defer { Glibc.close(descriptor) }
        do throws(LMDBError) {
            guard fchmod(descriptor, 0o600) == 0 else { throw .system(errno, operation: "copy", path: partial) }
            try compactCopy(toDescriptor: descriptor)
            guard fsync(descriptor) == 0 else {
                throw .system(errno, operation: "copy", path: partial, descriptor: descriptor)
            }
            try Self.publish(partial, as: path, replacing: replacing)
        } catch {
            unsafe _ = unlink(partial)
            throw error
        }
        try Self.syncDirectory(of: path)
    }

    /// Gives a finished file its name in one step.
    private static func publish(_ partial: String, as path: String, replacing: Bool) throws(LMDBError) {
        if replacing {
            guard unsafe rename(partial, path) == 0 else { throw .system(errno, operation: "copy", path: path) }
        } else {
            guard unsafe link(partial, path) == 0 else {
                guard errno == EEXIST else { throw .system(errno, operation: "copy", path: path) }
                throw LMDBError(
                    .system(EEXIST), operation: "copy", path: path,
                    message: "The file exists already: choose another name, or allow it to be replaced.")
            }
            unsafe _ = unlink(partial)
        }
    }

    private static func syncDirectory(of path: String) throws(LMDBError) {
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe Glibc.open(parent, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, operation: "sync", path: parent) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, operation: "sync", path: parent) }
    }
}
