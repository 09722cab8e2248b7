import Foundation
@_spi(Operations) import Traylog

/// A file of the server's own, beside the store.
enum SmallFile {
    /// Puts a file in the place of the one before, whole: it is on the disk, and so is its name, when this returns.
    ///
    /// It is nobody else's to read from its first byte on.
    ///
    /// - Parameter rights: the file's permissions; its owner may read and write it.
    /// - Throws: ``UnwritableFile`` when it cannot be written; the one before stays.
    static func write(_ data: Data, to path: String, rights: Int = 0o600) throws(UnwritableFile) {
        do {
            try DurableFile.replace(path, with: Array(data), mode: UInt32(rights))
        } catch {
            throw UnwritableFile(path: path, reason: error.description)
        }
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
