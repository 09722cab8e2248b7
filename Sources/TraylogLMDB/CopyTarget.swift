import TraylogPlatform

/// The directory that a copy of a store goes to: it was missing or empty, and is kept for this copy alone.
///
/// `CURRENT` is there from the beginning and names a directory that gets its data file last, so that there is no store
/// before all of it is.
struct CopyTarget: ~Copyable {
    let directory: String
    /// Whether it was made for the copy.
    private let isNew: Bool
    /// The directory, with a lock.
    private let file: FileDescriptor

    private var store: StoreDirectory { StoreDirectory(path: directory) }
    private var environment: EnvironmentDirectory { EnvironmentDirectory(store: directory, number: 1) }
    var dataPath: String { environment.dataPath }

    /// Makes the directory (0700) where it is missing, and takes away what copies left that were killed.
    ///
    /// - Throws: ``LMDBError/Code/unusableTarget`` and ``LMDBError/Code/permissionDenied``.
    static func prepare(_ directory: String, outside store: String) throws(LMDBError) -> CopyTarget {
        guard !directory.isEmpty else {
            throw LMDBError(
                .unusableTarget, operation: "copy", message: "The name of the directory is empty: give its path.")
        }
        var directory = directory
        while directory.utf8.count > 1, directory.hasSuffix("/") { directory.removeLast() }
        try check(directory, isOutside: store)
        let isNew = try make(directory)
        do throws(LMDBError) {
            let target = CopyTarget(directory: directory, isNew: isNew, file: try lock(directory))
            try target.checkIsFree()
            try target.begin()
            return target
        } catch {
            if isNew { try? Files.removeDirectory(directory) }
            throw error
        }
    }

    deinit {
        file.close()
    }

    /// Makes the names safe against power loss; those beside the data file are synced with that.
    func sync() throws(LMDBError) {
        try store.syncNames()
        if isNew { try LMDBError.attempt("sync", directory, Files.sync(directory + "/..")) }
    }

    /// Takes away what was made for this copy.
    func remove() {
        store.clear()
        if isNew { try? Files.removeDirectory(directory) }
    }

    private func begin() throws(LMDBError) {
        do throws(LMDBError) {
            store.clear()
            try store.writeNext(environment, like: nil)
            try store.switchToNext()
            try LMDBError.attempt("copy", environment.path, Files.createDirectory(environment.path))
        } catch {
            store.clear()
            throw error
        }
    }

    /// Nothing may stand in the way but what copies left that were killed: they have no data file yet.
    private func checkIsFree() throws(LMDBError) {
        for name in try names(directory) where !store.beginsWith(name) { throw isNotEmpty(name) }
        guard Files.exists(environment.path) else { return }
        for name in try names(environment.path)
        where !name.hasPrefix("data.mdb.") || !name.hasSuffix(Environment.partialEnding) {
            throw isNotEmpty("\(environment.name)/\(name)")
        }
    }

    private func names(_ directory: String) throws(LMDBError) -> [String] {
        do {
            return try Files.names(in: directory)
        } catch {
            throw Self.failure(error, directory)
        }
    }

    private func isNotEmpty(_ name: String) -> LMDBError {
        Self.unusable(directory, "is not empty (it has \(name)): choose a directory that is, or a new one.")
    }

    /// A copy inside of the store would be taken for a part of it.
    private static func check(_ directory: String, isOutside store: String) throws(LMDBError) {
        let inner = identity(store)
        // What does not exist yet lies where its name says.
        var path = identity(directory) == nil ? Files.parent(of: directory) : directory
        while let here = identity(path) {
            if here == inner {
                throw unusable(directory, "is the store itself, or inside of it: choose a directory elsewhere.")
            }
            path += "/.."
            if identity(path) == here { return }
        }
    }

    private static func identity(_ path: String) -> FileIdentity? { (try? FileStatus(path: path))?.identity }

    /// - Returns: whether it was missing.
    private static func make(_ directory: String) throws(LMDBError) -> Bool {
        do {
            if try Files.createDirectory(directory) { return true }
        } catch {
            throw failure(error, directory)
        }
        guard (try? FileStatus(path: directory))?.isDirectory == true else {
            throw unusable(directory, "is not a directory: choose another name.")
        }
        return false
    }

    private static func lock(_ directory: String) throws(LMDBError) -> FileDescriptor {
        let file: FileDescriptor
        do {
            file = try FileDescriptor(opening: directory, [.reading, .directory])
        } catch {
            throw failure(error, directory)
        }
        do {
            try file.lock()
        } catch {
            // Some network file systems lock no directories; a copy there must do without.
            guard error == .tryAgain else { return file }
            file.close()
            throw unusable(directory, "gets another copy at this moment: choose another one.")
        }
        return file
    }

    private static func failure(_ error: SystemError, _ directory: String) -> LMDBError {
        switch error {
        case .noEntry:
            unusable(directory, "cannot be made, because the directory above it is missing: make that first.")
        case .accessDenied, .notPermitted, .readOnlyFileSystem:
            LMDBError(
                .permissionDenied, operation: "copy", path: directory,
                message:
                    "Nothing can be written here (\(error)): choose another directory, or run as its "
                    + "owner.")
        default: .system(error, operation: "copy", path: directory)
        }
    }

    private static func unusable(_ directory: String, _ reason: String) -> LMDBError {
        LMDBError(.unusableTarget, operation: "copy", path: directory, message: "The directory \(reason)")
    }
}
