import TraylogCLibrary

/// Names of files and directories, and what is done with files by their names.
package enum Files {
    /// The path without links and dots, which means the same from every directory and at any time.
    ///
    /// What does not exist yet is named in the directory that does; a path with a NUL character stays as it is.
    package static func absolutePath(of path: String) -> String {
        // No call of the system takes a longer one, and each part of it would be asked for.
        if path.utf8.count >= PATH_MAX || path.utf8.contains(0) { return path }
        if let resolved = unsafe realpath(path.isEmpty ? "." : path, nil) {
            defer { unsafe free(resolved) }
            return unsafe String(cString: resolved)
        }
        var trimmed = path[...]
        while trimmed.utf8.count > 1, trimmed.last == "/" { trimmed.removeLast() }
        guard let slash = trimmed.lastIndex(of: "/") else {
            // The directory of the process was removed when even that has no path.
            return trimmed == "." ? path : join(absolutePath(of: "."), trimmed)
        }
        guard trimmed.utf8.count > 1 else { return path }
        return join(
            absolutePath(of: slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])),
            trimmed[slash...].dropFirst())
    }

    private static func join(_ directory: String, _ name: Substring) -> String {
        directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    }

    /// The directory that a path lies in, by its text alone.
    package static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Whether there is anything of this name; a link counts, wherever it leads.
    package static func exists(_ path: String) -> Bool {
        (try? FileStatus(path: path, followingLinks: false)) != nil
    }

    /// Whether this process may read what is there of this name, and write it where `isWriting` asks for that; false also when
    /// there is nothing.
    ///
    /// Asked for the user and group that the process acts as, so that it says what opening the file would.
    package static func isAccessible(_ path: String, isWriting: Bool) -> Bool {
        guard !path.utf8.contains(0) else { return false }
        return unsafe faccessat(AT_FDCWD, path, isWriting ? R_OK | W_OK : R_OK, AT_EACCESS) == 0
    }

    package static func remove(_ path: String) throws(SystemError) {
        try SystemError.check(path: path)
        unsafe try SystemError.check(unlink(path))
    }

    /// Gives a file another name in one step, in place of a file that has it.
    package static func rename(_ path: String, to newPath: String) throws(SystemError) {
        try SystemError.check(path: path)
        try SystemError.check(path: newPath)
        unsafe try SystemError.check(Glibc.rename(path, newPath))
    }

    /// Gives a file a second name, which must be free.
    package static func link(_ path: String, to newPath: String) throws(SystemError) {
        try SystemError.check(path: path)
        try SystemError.check(path: newPath)
        unsafe try SystemError.check(Glibc.link(path, newPath))
    }

    package static func setMode(_ mode: UInt32, of path: String) throws(SystemError) {
        try SystemError.check(path: path)
        unsafe try SystemError.check(chmod(path, mode))
    }

    /// Gives a file, or the link itself, to a user and a group.
    package static func setOwner(_ owner: UInt32, group: UInt32, of path: String) throws(SystemError) {
        try SystemError.check(path: path)
        unsafe try SystemError.check(lchown(path, owner, group))
    }

    /// Gives a file mode and owner of another one, by its name and as far as the user may.
    package static func adopt(_ path: String, like status: FileStatus?) {
        guard let status else { return }
        try? setMode(status.mode, of: path)
        try? setOwner(status.owner, group: status.group, of: path)
    }

    /// Makes a directory of mode 0700; its parent must be there.
    ///
    /// - Returns: false when there is something of this name already.
    package static func createDirectory(_ path: String) throws(SystemError) -> Bool {
        try SystemError.check(path: path)
        guard unsafe mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw .last }
            return false
        }
        // The umask may have taken bits that the owner needs.
        try? setMode(0o700, of: path)
        return true
    }

    /// Removes an empty directory.
    package static func removeDirectory(_ path: String) throws(SystemError) {
        try SystemError.check(path: path)
        unsafe try SystemError.check(rmdir(path))
    }

    /// Removes a directory with all that is in it, as far as that goes; a link goes, and not what it leads to.
    package static func removeTree(_ path: String) {
        if (try? FileStatus(path: path, followingLinks: false))?.isDirectory == true {
            for name in (try? names(in: path)) ?? [] { removeTree(path + "/" + name) }
            try? removeDirectory(path)
        } else {
            try? remove(path)
        }
    }

    /// The directory for files that nobody keeps: `TMPDIR`, else `/tmp`.
    package static var temporaryDirectory: String {
        guard let path = unsafe getenv("TMPDIR"), unsafe path.pointee != 0 else { return "/tmp" }
        return unsafe String(cString: path)
    }

    /// The names in a directory, ascending, except the directory itself and its parent.
    package static func names(in directory: String) throws(SystemError) -> [String] {
        try SystemError.check(path: directory)
        guard let stream = unsafe opendir(directory) else { throw .last }
        defer { unsafe _ = closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            // Read where it lies, up to its end: the last entry's fixed field of 256 bytes reaches beyond the system's buffer.
            guard let place = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let start = unsafe UnsafeRawPointer(entry).advanced(by: place).assumingMemoryBound(to: CChar.self)
            let name = unsafe String(cString: start)
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes the content of a file, or the names in a directory, safe against power loss.
    package static func sync(_ path: String) throws(SystemError) {
        let file = try FileDescriptor(opening: path, .reading)
        defer { file.close() }
        try file.sync()
    }
}
