import Foundation

/// A file of the server's own, beside the store.
enum SmallFile {
    /// Puts a file in the place of the one before, whole: it is on the disk, and so is its name, when this returns.
    ///
    /// - Parameter rights: the file's permissions; its owner may read and write it.
    /// - Throws: ``Problem`` 507 when it cannot be written; the one before stays.
    static func write(_ data: Data, to path: String, rights: Int = 0o600) throws {
        let draft = path + ".new"
        guard FileManager.default.createFile(atPath: draft, contents: data, attributes: [.posixPermissions: rights]),
            let file = FileHandle(forUpdatingAtPath: draft)
        else { throw StorageProblem.unwritable(draft) }
        defer { try? file.close() }
        try file.synchronize()
        guard unsafe rename(draft, path) == 0,
            let directory = FileHandle(
                forReadingAtPath: URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false))
        else { throw StorageProblem.unwritable(path) }
        defer { try? directory.close() }
        try directory.synchronize()
    }
}

package enum StorageProblem {
    package static func unwritable(_ path: String) -> Problem {
        Problem(.insufficientStorage, "No space left", "\(path) cannot be written")
    }
}
