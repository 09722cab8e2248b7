import TraylogPages
import TraylogPlatform

/// The directory `rewrite` inside of a store, where a successor of its data file is filled.
///
/// It has both files of an environment until the successor takes the store's names, the lock file first. So what a
/// killed process left tells how far it came: with both files, or with a lock file alone, nothing was replaced; with a
/// data file alone the lock file has its name already, and the data file gets its one now; empty, all is done.
struct RewriteDirectory: Sendable {
    /// Of the store.
    let directory: String

    var path: String { directory + "/rewrite" }
    private var location: StoreLocation { StoreLocation(directory: path) }
    private var store: StoreLocation { StoreLocation(directory: directory) }

    /// Makes the directory, or empties it, for the owner of the store.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen`` when this process fills a successor.
    func prepare() throws(LMDBError) -> EnvironmentRegistry.Claim {
        try LMDBError.attempt("create", path, Files.createDirectory(path))
        guard let status = try? FileStatus(path: path, followingLinks: false), status.isDirectory else {
            throw LMDBError(
                .unusableTarget, operation: "create", path: path,
                message: "This is not a directory, but the store needs one with this name: take it away.")
        }
        guard let claim = EnvironmentRegistry.claim([status.identity]) else {
            throw LMDBError(
                .alreadyOpen, operation: "create", path: path,
                message: "This process rewrites the store already: wait for the end of that.")
        }
        do throws(LMDBError) {
            try? Files.setMode(0o700, of: path)
            if CurrentProcess.isRoot, let owner = try? FileStatus(path: directory) {
                try? Files.setOwner(owner.owner, group: owner.group, of: path)
            }
            try removeFiles()
            return claim
        } catch {
            claim.release()
            throw error
        }
    }

    /// Gives the new files owner and mode of those that they will replace, and makes their names safe against power
    /// loss.
    func adopt() throws(LMDBError) {
        for (new, old) in [(location.dataPath, store.dataPath), (location.lockPath, store.lockPath)] {
            guard let status = try? FileStatus(path: old) else { continue }
            // By path: closing a descriptor of the lock file would drop LMDB's locks.
            try? Files.setMode(status.mode, of: new)
            try? Files.setOwner(status.owner, group: status.group, of: new)
        }
        try Environment.syncDirectory(path)
        try Environment.syncDirectory(directory)
    }

    /// Gives the lock file the store's name.
    ///
    /// It comes first: a process that dies after this leaves the old data file with a fresh lock file. The old lock
    /// file with the new data file would be damage, because it says which transaction is the last.
    func renameLock() throws(LMDBError) {
        try rename(location.lockPath, store.lockPath)
    }

    /// Gives the data file the store's name: from here on the successor is the store.
    func renameData() throws(LMDBError) {
        try rename(location.dataPath, store.dataPath)
    }

    /// Makes the new names safe against power loss; if the old ones come back, they are taken away like all leftovers.
    func syncNames() throws(LMDBError) {
        try Environment.syncDirectory(directory)
    }

    /// Takes the directory away with all that is in it, as far as that goes.
    func remove() {
        try? removeFiles()
        try? Files.removeDirectory(path)
    }

    /// Ends what a process began that was killed: a replacement that had come halfway, or a successor to take away.
    ///
    /// The caller holds the lease and the lock for opening, and has not opened the store yet.
    func settle() throws(LMDBError) {
        guard (try? FileStatus(path: path, followingLinks: false))?.isDirectory == true else { return }
        if try isHalfway() {
            // Readers of the old file may have opened it with the new lock file, in which its transactions stand now.
            try remove(store.lockPath)
            try renameData()
        }
        try syncNames()
        remove()
    }

    private func isHalfway() throws(LMDBError) -> Bool {
        guard Files.exists(location.dataPath), !Files.exists(location.lockPath), Files.exists(store.dataPath) else {
            return false
        }
        guard case .sound = try Preflight.examine(path: store.dataPath) else { return false }
        // Before the mark the new file may be anything: it, or the name of its lock file, was not on disk yet.
        guard try CopiedFile.isMarked(path: store.dataPath) else { return false }
        _ = try Preflight.examine(path: location.dataPath)
        return true
    }

    /// The data file goes first, so that what is left never looks like a replacement that came halfway.
    private func removeFiles() throws(LMDBError) {
        try remove(location.dataPath)
        if Files.exists(location.lockPath) { try Environment.syncDirectory(path) }
        try remove(location.lockPath)
    }

    private func remove(_ file: String) throws(LMDBError) {
        do {
            try Files.remove(file)
        } catch {
            guard error == .noEntry else { throw .system(error, operation: "remove", path: file) }
        }
    }

    private func rename(_ old: String, _ new: String) throws(LMDBError) {
        try LMDBError.attempt("replace", new, Files.rename(old, to: new))
    }
}
