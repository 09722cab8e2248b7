import Foundation

/// A file of the server's own, beside the store.
enum SmallFile {
    /// Puts a file in the place of the one before, whole: it is on the disk, and so is its name, when this returns.
    ///
    /// It is nobody else's to read from its first byte on.
    ///
    /// - Parameter rights: the file's permissions; its owner may read and write it.
    /// - Throws: ``UnwritableFile`` when it cannot be written; the one before stays.
    static func write(_ data: Data, to path: String, rights: Int = 0o600) throws {
        let draft = path + ".new"
        // What a crash left may have been made with other rights.
        unsafe unlink(draft)
        let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(rights & 0o600))
        guard file >= 0 else { throw StorageProblem.unwritable(draft) }
        do {
            defer { close(file) }
            try unsafe data.withUnsafeBytes { bytes in
                var written = 0
                while written < bytes.count {
                    let count = unsafe Foundation.write(file, bytes.baseAddress! + written, bytes.count - written)
                    guard count > 0 || errno == EINTR else { throw StorageProblem.unwritable(draft) }
                    written += max(0, count)
                }
            }
            guard fchmod(file, mode_t(rights)) == 0, fsync(file) == 0 else { throw StorageProblem.unwritable(draft) }
        }
        guard unsafe rename(draft, path) == 0 else { throw StorageProblem.unwritable(path) }
        let directory = unsafe open(
            URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { throw StorageProblem.unwritable(path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw StorageProblem.unwritable(path) }
    }
}

/// A file of the server's own cannot be written; the system's reason is known.
package struct UnwritableFile: Error, CustomStringConvertible {
    let path: String
    let reason: String

    package var description: String { "\(path) cannot be written: \(reason)" }
}

package enum StorageProblem {
    /// Must be asked right after the call that failed.
    package static func unwritable(_ path: String) -> UnwritableFile {
        UnwritableFile(path: path, reason: unsafe String(cString: strerror(errno)))
    }
}
