import Glibc

/// A path that means the same from every directory.
package enum AbsolutePath {
    /// Without links and dots, where the file exists; else as given.
    package static func of(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
}
