import CTraylogSystem
import TraylogCLibrary

/// The number that the process has for an open file.
///
/// Copies of it are the same open file. It is not closed by itself, because some files are LMDB's to close.
package struct FileDescriptor: Hashable, Sendable {
    package let number: Int32

    package init(number: Int32) {
        self.number = number
    }

    /// The mode in which a file is opened; a program that is started from here never inherits it.
    package struct Options: OptionSet, Sendable {
        package let rawValue: Int32

        package init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        package static let reading = Options(rawValue: O_RDONLY)
        package static let readingAndWriting = Options(rawValue: O_RDWR)
        /// Makes the file where there is none.
        package static let creating = Options(rawValue: O_CREAT)
        /// Fails where there is one.
        package static let exclusive = Options(rawValue: O_EXCL)
        package static let refusingLinks = Options(rawValue: O_NOFOLLOW)
        package static let directory = Options(rawValue: O_DIRECTORY)
        /// Does not wait, as for the other end of a pipe.
        package static let notWaiting = Options(rawValue: O_NONBLOCK)
    }

    /// Opens a file; a new one gets mode 0600, less what the umask takes.
    package init(opening path: String, _ options: Options) throws(SystemError) {
        try SystemError.check(path: path)
        number = unsafe try SystemError.check(open(path, options.rawValue | O_CLOEXEC, 0o600))
    }

    /// Opens a small file for reading and writing, or makes it with mode 0600.
    ///
    /// - Parameter owner: who gets a file that root makes, so that root's visit does not lock out the application.
    package init(openingOrCreating path: String, owner: FileStatus?) throws(SystemError) {
        do {
            try self.init(opening: path, [.readingAndWriting, .refusingLinks])
            return
        } catch {
            guard error == .noEntry else { throw error }
        }
        try self.init(opening: path, [.readingAndWriting, .creating, .refusingLinks])
        try? setMode(0o600)
        if CurrentProcess.isRoot, let owner { _ = fchown(number, owner.owner, owner.group) }
    }

    /// Another number for the open file, with the same place in it.
    package func duplicate() throws(SystemError) -> FileDescriptor {
        FileDescriptor(number: try SystemError.check(fcntl(number, F_DUPFD_CLOEXEC, 0)))
    }

    /// Begins a file that was written from its beginning anew.
    package func empty() throws(SystemError) {
        try setSize(0)
        guard lseek(number, 0, SEEK_SET) == 0 else { throw .last }
    }

    package func close() {
        _ = Glibc.close(number)
    }

    /// Makes every later write to the file fail, also one that another thread is about to make; the number stays in use.
    package func refuseWrites() throws(SystemError) {
        let unwritable = try FileDescriptor(opening: "/dev/null", .reading)
        defer { unwritable.close() }
        try SystemError.check(dup3(unwritable.number, number, O_CLOEXEC))
    }

    package func status() throws(SystemError) -> FileStatus {
        var raw = stat()
        unsafe try SystemError.check(fstat(number, &raw))
        return FileStatus(raw)
    }

    /// Names that lead to the file; 0 once it was removed, or when the system cannot tell.
    ///
    /// It does not ask for the file's times, as ``status()`` does: once somebody has seen them, each write changes them,
    /// and with them a block of the disk that the next sync of another file may have to wait for.
    package var nameCount: Int { Int(traylog_name_count(number)) }

    /// The file's length in bytes; nil when the system cannot tell.
    package var size: Int64? { try? status().size }

    /// Reads from `offset` on until `bytes` are full or the file ends.
    ///
    /// - Returns: the number of bytes read.
    package func read(into bytes: inout MutableRawSpan, at offset: Int64) throws(SystemError) -> Int {
        let (count, error): (Int, SystemError?) = unsafe bytes.withUnsafeMutableBytes { buffer in
            var filled = 0
            while filled < buffer.count {
                let got = unsafe pread(
                    number, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                if got < 0 { return (filled, .last) }
                if got == 0 { break }
                filled += got
            }
            return (filled, nil)
        }
        if let error { throw error }
        return count
    }

    /// Up to `count` bytes from `offset` on; fewer where the file ends before.
    package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let got = try read(into: &span, at: offset)
        bytes.removeLast(count - got)
        return bytes
    }

    /// Writes all of `bytes` from `offset` on.
    package func write(_ bytes: RawSpan, at offset: Int64) throws(SystemError) {
        unsafe try writeAll(bytes) { (buffer, done) in
            unsafe pwrite(number, buffer.baseAddress, buffer.count, off_t(offset) + off_t(done))
        }
    }

    /// Writes all of `bytes` where the last write ended.
    package func append(_ bytes: RawSpan) throws(SystemError) {
        unsafe try writeAll(bytes) { (buffer, _) in unsafe Glibc.write(number, buffer.baseAddress, buffer.count) }
    }

    private func writeAll(_ bytes: RawSpan, _ write: (UnsafeRawBufferPointer, Int) -> Int) throws(SystemError) {
        var written = 0
        while written < bytes.byteCount {
            let count = unsafe bytes.extracting(written...).withUnsafeBytes { unsafe write($0, written) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            guard count > 0 else { throw .inputOutput }
            written += count
        }
    }

    /// Makes the file longer, with zeros that take no space, or shorter.
    package func setSize(_ byteCount: Int64) throws(SystemError) {
        try SystemError.check(ftruncate(number, off_t(byteCount)))
    }

    /// Makes content and length safe against power loss; of a directory, the names in it.
    package func sync() throws(SystemError) {
        try SystemError.check(fsync(number))
    }

    /// The same without times and other attributes.
    package func syncData() throws(SystemError) {
        try SystemError.check(fdatasync(number))
    }

    package func setMode(_ mode: UInt32) throws(SystemError) {
        try SystemError.check(fchmod(number, mode))
    }

    /// Keeps a file that somebody else opened from the programs that are started from here.
    package func closeOnStart() {
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }

    /// Reserves space on the disk from the file's start on, without a change of its length.
    package func reserve(_ byteCount: Int64) throws(SystemError) {
        // `FALLOC_FL_KEEP_SIZE` of the Linux kernel.
        let keepingSize: Int32 = 1
        while fallocate(number, keepingSize, 0, off_t(byteCount)) != 0 {
            if errno != EINTR { throw .last }
        }
    }
}

/// Locks: `flock` on the whole file, which survives the closing of other descriptors and ends with its process.
extension FileDescriptor {
    /// Takes the exclusive lock without waiting.
    ///
    /// - Throws: ``SystemError/tryAgain`` when another holder has it; another error where there are no locks.
    package func lock() throws(SystemError) {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno != EINTR { throw .last }
        }
    }

    /// Whether somebody has the exclusive lock.
    ///
    /// Takes a shared one for an instant.
    package var isLocked: Bool {
        guard flock(number, LOCK_SH | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
        unlock()
        return false
    }

    package func unlock() {
        _ = flock(number, LOCK_UN)
    }

    /// Whether another process has a `fcntl` lock on the first byte; true also where the system cannot tell.
    package var firstByteIsLockedElsewhere: Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_len = 1
        return unsafe fcntl(number, F_GETLK, &lock) != 0 || lock.l_type != Int16(F_UNLCK)
    }
}
