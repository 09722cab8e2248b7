import Glibc
import TraylogLog

/// An open file; closed with the last reference. What is read has a position, what is written goes to the end.
final class ArchiveFile: Sendable {
    let path: String
    private let descriptor: Int32

    /// Opens a file that must be a regular one, for reading.
    init(reading path: String) throws(ArchiveError) {
        // Without waiting: the name may be that of a pipe.
        descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        guard descriptor >= 0 else { throw .system(errno, path: path) }
        guard let status = FileStatus(descriptor: descriptor) else { throw .system(errno, path: path) }
        guard status.isRegular else { throw ArchiveError(.notAnArchive, path: path, "this is no file") }
    }

    /// Makes a new file of mode 0600, locked for as long as it is open here.
    ///
    /// - Returns: nil when there is one, or when somebody took it for a leftover before it was locked.
    init?(creating path: String) throws(ArchiveError) {
        descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        self.path = path
        if descriptor < 0 {
            guard errno == EEXIST else { throw .system(errno, path: path) }
            return nil
        }
        // The umask may have taken bits that the owner needs.
        guard fchmod(descriptor, 0o600) == 0 else {
            let number = errno
            unsafe _ = unlink(path)
            throw .system(number, path: path)
        }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // Some network file systems have no locks; nobody can hold one there either.
            if errno == EWOULDBLOCK { return nil }
            break
        }
        guard let mine = FileStatus(descriptor: descriptor), mine.isSameFile(as: FileStatus(path: path)) else {
            return nil
        }
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    func size() throws(ArchiveError) -> UInt64 {
        guard let status = FileStatus(descriptor: descriptor) else { throw .system(errno, path: path) }
        return status.size
    }

    /// Replaces `bytes` by exactly `count` bytes at `offset`.
    ///
    /// - Throws: ``ArchiveError`` `truncated` when the file ends before.
    func read(_ count: Int, at offset: UInt64, into bytes: inout [UInt8]) throws(ArchiveError) {
        bytes.resize(to: count)
        var filled = 0
        while filled < count {
            // Sound: the buffer has `count` bytes, of which those from `filled` on are asked for.
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset) + off_t(filled))
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .system(errno, path: path) }
            guard got > 0 else { throw ArchiveError(.truncated, path: path, "the file has become shorter") }
            filled += got
        }
    }

    /// Writes all of `bytes`.
    func write(_ bytes: RawSpan) throws(ArchiveError) {
        var written = 0
        while written < bytes.byteCount {
            // Sound: the span is borrowed during the call.
            let count = unsafe bytes.extracting(written...).withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system(errno, path: path) }
            written += count
        }
    }

    /// Makes what was written safe against power loss.
    func sync() throws(ArchiveError) {
        guard fsync(descriptor) == 0 else { throw .system(errno, path: path) }
    }
}

extension [UInt8] {
    /// Keeps the memory where it is enough; new bytes are 0.
    mutating func resize(to count: Int) {
        if self.count > count {
            removeLast(self.count - count)
        } else if self.count < count {
            self += [UInt8](repeating: 0, count: count - self.count)
        }
    }
}
