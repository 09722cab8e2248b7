import CTraylogLMDB
import Glibc

/// Room on the disk for all of LMDB's lock file.
///
/// LMDB maps the file and writes to it, and makes it with a hole for each page. On a full disk the first touch of a
/// hole ends the process by a signal: that of the reader who gets the next slot, or whoever opens a store whose lock
/// file is gone. With its space reserved the worst that can happen is an error at opening.
enum LockSpace {
    /// A little more than LMDB needs for ``Environment/maximumReaders``: a cache line each, and a few in front.
    private static let bytes = Environment.maximumReaders * 64 + 4_096
    private static let blockBytes: Int64 = 512
    /// `FALLOC_FL_KEEP_SIZE` of the Linux kernel.
    private static let keepingSize: Int32 = 1

    /// Takes the space, where that was not done before.
    ///
    /// The caller knows that this process does not have the store open: closing the file drops its locks.
    ///
    /// - Throws: ``LMDBError/Code/diskFull``. What else is wrong with the file is for LMDB to find.
    static func reserve(_ path: String, owner: FileIdentity.Status?) throws(LMDBError) {
        guard !isReserved(path), let descriptor = try? LockFile.open(path, owner: owner) else { return }
        defer { close(descriptor) }
        // Beyond its end, because LMDB goes by the size of the file.
        while fallocate(descriptor, keepingSize, 0, off_t(bytes)) != 0 {
            switch errno {
            case EINTR: continue
            case ENOSPC, EDQUOT:
                throw LMDBError(
                    .diskFull, operation: "open", path: path,
                    message:
                        "Disk full (or the quota): there is no room for LMDB's lock file, which readers need, too; free "
                        + "some space and open the store again.")
            // File systems that cannot reserve mostly need not: they copy on write, and may be full in any case.
            default: return
            }
        }
    }

    private static func isReserved(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && Int64(status.st_blocks) * blockBytes >= Int64(bytes)
    }
}
