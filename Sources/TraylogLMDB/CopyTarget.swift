import Glibc

/// The directory that a copy of a store goes to: it was missing or empty, and is kept for this copy alone.
struct CopyTarget: ~Copyable {
    let directory: String
    /// Whether it was made for the copy.
    private let isNew: Bool
    /// Of the directory, with a lock.
    private let descriptor: Int32

    var dataPath: String { directory + "/data.mdb" }

    /// Makes the directory (0700) where it is missing, and takes away what copies left that were killed.
    ///
    /// - Throws: ``LMDBError/Code/unusableTarget`` and ``LMDBError/Code/permissionDenied``.
    static func prepare(_ directory: String, outside store: String) throws(LMDBError) -> CopyTarget {
        var directory = directory
        while directory.count > 1, directory.hasSuffix("/") { directory.removeLast() }
        try check(directory, isOutside: store)
        let isNew = try make(directory)
        do throws(LMDBError) {
            let target = CopyTarget(directory: directory, isNew: isNew, descriptor: try lock(directory))
            for name in try target.leftovers() { unsafe _ = unlink("\(directory)/\(name)") }
            return target
        } catch {
            if isNew { unsafe _ = rmdir(directory) }
            throw error
        }
    }

    private init(directory: String, isNew: Bool, descriptor: Int32) {
        self.directory = directory
        self.isNew = isNew
        self.descriptor = descriptor
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Makes the directory's name safe against power loss; the names in it are synced with the file.
    func sync() throws(LMDBError) {
        if isNew { try Environment.syncDirectory(directory + "/..") }
    }

    /// Takes the directory away again, if it was made for this copy.
    func remove() {
        if isNew { unsafe _ = rmdir(directory) }
    }

    /// What may stand in the way of a copy and is none: the unfinished files of copies that were killed.
    private func leftovers() throws(LMDBError) -> [String] {
        guard let stream = unsafe opendir(directory) else { throw Self.failure(errno, directory) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            guard name.hasPrefix("data.mdb."), name.hasSuffix(Environment.partialEnding) else {
                throw Self.unusable(
                    directory, "is not empty (it has \(name)): choose a directory that is, or a new one.")
            }
            names.append(name)
        }
        return names
    }

    /// A copy inside of the store would be taken for a part of it.
    private static func check(_ directory: String, isOutside store: String) throws(LMDBError) {
        let inner = FileIdentity.status(path: store)?.identity
        // What does not exist yet lies where its name says.
        var path = FileIdentity.status(path: directory) == nil ? parent(of: directory) : directory
        while let here = FileIdentity.status(path: path)?.identity {
            if here == inner {
                throw unusable(directory, "is the store itself, or inside of it: choose a directory elsewhere.")
            }
            path += "/.."
            if FileIdentity.status(path: path)?.identity == here { return }
        }
    }

    /// - Returns: whether it was missing.
    private static func make(_ directory: String) throws(LMDBError) -> Bool {
        if unsafe mkdir(directory, 0o700) == 0 {
            // The umask may have taken bits that the owner needs.
            unsafe _ = chmod(directory, 0o700)
            return true
        }
        guard errno == EEXIST else { throw failure(errno, directory) }
        guard FileIdentity.status(path: directory)?.isDirectory == true else {
            throw unusable(directory, "is not a directory: choose another name.")
        }
        return false
    }

    private static func lock(_ directory: String) throws(LMDBError) -> Int32 {
        let descriptor = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno, directory) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // Some network file systems lock no directories; a copy there must do without.
            guard errno == EWOULDBLOCK else { break }
            Glibc.close(descriptor)
            throw unusable(directory, "gets another copy at this moment: choose another one.")
        }
        return descriptor
    }

    private static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private static func failure(_ number: Int32, _ directory: String) -> LMDBError {
        switch number {
        case ENOENT: unusable(directory, "cannot be made, because the directory above it is missing: make that first.")
        case EACCES, EPERM, EROFS:
            LMDBError(
                .permissionDenied, operation: "copy", path: directory,
                message:
                    "Nothing can be written here (\(LMDBError.describe(number))): choose another directory, or run as its "
                    + "owner.")
        default: .system(number, operation: "copy", path: directory)
        }
    }

    private static func unusable(_ directory: String, _ reason: String) -> LMDBError {
        LMDBError(.unusableTarget, operation: "copy", path: directory, message: "The directory \(reason)")
    }
}
