import TraylogPages
import TraylogPlatform

/// A lock on `open.lock`, held while LMDB opens or closes the store.
///
/// Releases 0.9.26 to 0.9.31 of LMDB destroy shared mutexes on closing, which breaks a process that opens just then.
/// It also lets only one process create the files.
struct OpenLock: Sendable {
    /// Nil on a read-only file system, where LMDB uses no locks either.
    private let file: LockFile?
    static let limitMilliseconds = 10_000

    init(directory: String, access: Environment.Access, owner: FileStatus?) throws(LMDBError) {
        let path = directory + "/open.lock"
        do {
            file = try LockFile(path: path, owner: owner)
        } catch {
            guard access == .readOnly, error == .readOnlyFileSystem else {
                throw .system(error, operation: "open a file", path: path)
            }
            file = nil
        }
    }

    /// Waits up to 10 seconds for the lock.
    ///
    /// - Throws: ``LMDBError/Code/openLocked`` after that; the holder has stopped in the middle of opening.
    func acquire() throws(LMDBError) {
        guard tryAcquire() else { throw Self.failure(path: file?.path) }
    }

    static func failure(path: String?) -> LMDBError {
        LMDBError(
            .openLocked, operation: "open", path: path,
            message:
                "Another process has been opening or closing the store for long: find it with `fuser` and continue or "
                + "end it.")
    }

    /// The same, giving false instead of an error.
    func tryAcquire(milliseconds: Int = limitMilliseconds) -> Bool {
        guard let file else { return true }
        for _ in 0..<milliseconds {
            if file.tryLock() { return true }
            OSThread.sleep(milliseconds: 1)
        }
        return false
    }

    func release() {
        file?.unlock()
    }

    func close() {
        file?.close()
    }
}
