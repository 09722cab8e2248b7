import TraylogPlatform

/// A file of our own beside LMDB's, for locks that survive the closing of other descriptors and that the kernel drops
/// when their process ends in any way.
struct LockFile: Sendable {
    private let file: FileDescriptor
    let path: String

    /// Opens or creates it with mode 0600 for the owner of the store.
    ///
    /// - Parameter owner: the owner of a file that root creates, so that root does not lock out the application.
    init(path: String, owner: FileStatus?) throws(SystemError) {
        file = try FileDescriptor(openingOrCreating: path, owner: owner)
        self.path = path
    }

    /// Takes the lock; false when another holder has it.
    func tryLock() -> Bool {
        (try? file.lock()) != nil
    }

    func unlock() {
        file.unlock()
    }

    func close() {
        file.close()
    }

    /// Tells the file from its copies.
    var inode: UInt64? { (try? file.status())?.identity.inode }

    /// The first 512 bytes as text.
    func contents() -> String {
        String(decoding: (try? file.read(512, at: 0)) ?? [], as: UTF8.self)
    }

    /// Replaces the whole content; after a power cut in between, the end of the old one may follow the new one.
    func replaceContents(_ text: String) throws(LMDBError) {
        let bytes = Array(text.utf8)
        let operation = "write a lock file"
        try LMDBError.attempt(operation, path, file: file, file.write(RawSpan(_elements: bytes.span), at: 0))
        try LMDBError.attempt(operation, path, file: file, file.setSize(Int64(bytes.count)))
    }
}

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

/// A lock on `open.lock`, held while LMDB opens or closes the store.
///
/// Releases 0.9.26 to 0.9.31 of LMDB destroy shared mutexes on closing, which breaks a process that opens just then.
/// It also lets only one process create the files.
struct OpenLock: Sendable {
    private let file: LockFile
    static let limitMilliseconds = 10_000

    private static func path(in directory: String) -> String { directory + "/open.lock" }

    static func exists(in directory: String) -> Bool { (try? FileStatus(path: path(in: directory))) != nil }

    init(directory: String, owner: FileStatus?) throws(LMDBError) {
        let path = Self.path(in: directory)
        file = try LMDBError.attempt("open a file", path, LockFile(path: path, owner: owner))
    }

    /// Waits up to 10 seconds for the lock.
    ///
    /// - Throws: ``LMDBError/Code/openLocked`` after that; the holder has stopped in the middle of opening.
    func acquire() throws(LMDBError) {
        guard tryAcquire() else { throw Self.failure(path: file.path) }
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
        for _ in 0..<milliseconds {
            if file.tryLock() { return true }
            OSThread.sleep(milliseconds: 1)
        }
        return false
    }

    func release() {
        file.unlock()
    }

    func close() {
        file.close()
    }
}
