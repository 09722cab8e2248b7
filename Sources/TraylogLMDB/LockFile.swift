import Glibc

/// A file of our own beside LMDB's, for `flock` locks: these survive the closing of other descriptors, and the kernel
/// drops them when their process ends in any way.
struct LockFile: Sendable {
    let descriptor: Int32
    let path: String

    /// Opens or creates it with mode 0600 for the owner of the store.
    ///
    /// - Parameter owner: who gets a file that root creates, so that root's visit does not lock out the application.
    init(path: String, owner: FileIdentity.Status?) throws(LMDBError) {
        descriptor = try Self.open(path, owner: owner)
        self.path = path
    }

    /// Opens or creates a small file beside LMDB's, which the caller closes.
    static func open(_ path: String, owner: FileIdentity.Status?) throws(LMDBError) -> Int32 {
        let existing = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard existing < 0 else { return existing }
        guard errno == ENOENT else { throw .system(errno, operation: "open a file", path: path) }
        let created = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard created >= 0 else { throw .system(errno, operation: "create a file", path: path) }
        fchmod(created, 0o600)
        if geteuid() == 0, let owner { _ = fchown(created, owner.owner, owner.group) }
        return created
    }

    /// Takes the lock; false when another holder has it.
    func tryLock() -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }

    func unlock() {
        flock(descriptor, LOCK_UN)
    }

    func close() {
        Glibc.close(descriptor)
    }

    /// The first 512 bytes as text.
    func contents() -> String {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    /// Replaces the whole content; after a power cut in between, the end of the old one may follow the new one.
    func replaceContents(_ text: String) throws(LMDBError) {
        let bytes = Array(text.utf8)
        let length = bytes.count
        let written = unsafe pwrite(descriptor, bytes, length, 0)
        // As LMDB does with a short write: the space that is left tells what is wrong.
        if written >= 0, written < length { errno = EIO }
        guard written == length, ftruncate(descriptor, off_t(length)) == 0 else {
            throw .system(errno, operation: "write a lock file", path: path, descriptor: descriptor)
        }
    }

    /// Makes the content safe against power loss.
    func sync() throws(LMDBError) {
        guard fsync(descriptor) == 0 else {
            throw .system(errno, operation: "sync a lock file", path: path, descriptor: descriptor)
        }
    }
}
