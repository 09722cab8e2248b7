import TraylogPages
import TraylogPlatform

/// Room on the disk for all of LMDB's lock file.
///
/// LMDB maps the file and writes to it, and makes it with a hole for each page. On a full disk the first touch of a
/// hole ends the process by a signal: that of the reader who gets the next slot, or whoever opens a store whose lock
/// file is gone. With its space reserved the worst that can happen is an error at opening.
enum LockSpace {
    /// A little more than LMDB needs for ``Environment/maximumReaders``: a cache line each, and a few in front.
    private static let bytes = Int64(Environment.maximumReaders * 64 + 4_096)

    /// Takes the space, where that was not done before.
    ///
    /// The caller knows that this process does not have the store open: closing the file drops its locks.
    ///
    /// - Throws: ``LMDBError/Code/diskFull``. What else is wrong with the file is for LMDB to find.
    static func reserve(_ path: String, owner: FileStatus?) throws(LMDBError) {
        let taken = (try? FileStatus(path: path))?.allocatedBytes ?? 0
        guard taken < bytes, let file = try? FileDescriptor(openingOrCreating: path, owner: owner) else { return }
        defer { file.close() }
        do {
            // Beyond its end, because LMDB goes by the size of the file.
            try file.reserve(bytes)
        } catch {
            // File systems that cannot reserve mostly need not: they copy on write, and may be full in any case.
            guard error == .noSpace || error == .quotaExceeded else { return }
            throw LMDBError(
                .diskFull, operation: "open", path: path,
                message:
                    "Disk full (or the quota): there is no room for LMDB's lock file, which readers need, too; free "
                    + "some space and open the store again.")
        }
    }
}
