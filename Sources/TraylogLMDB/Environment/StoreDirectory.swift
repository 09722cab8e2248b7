import TraylogPlatform

/// The directory of a store, and which environment of LMDB in it is the store's.
///
/// Each environment has a directory of its own, and the file `CURRENT` names the one in use. A replacement fills
/// another one and renames a new `CURRENT` over the old, which is one step. Whatever `CURRENT` does not name is a
/// leftover of a process that was killed, and the next writer takes it away. There is a store as soon as the directory
/// that `CURRENT` names has a data file.
struct StoreDirectory: Sendable {
    let path: String

    var currentPath: String { path + "/CURRENT" }
    private var nextPath: String { path + "/CURRENT.new" }

    /// Checks the directory and the file system; creates the directory where that is wanted.
    func prepare(access: Environment.Access, configuration: Environment.Configuration) throws(LMDBError) {
        let creates = access == .readWrite && configuration.creates
        let isNew = creates ? try LMDBError.attempt("create", path, Files.createDirectory(path)) : false
        guard try status(of: path).isDirectory else {
            throw LMDBError(
                .unusableTarget, operation: "open", path: path,
                message: "This is not a directory: give the directory of a store.")
        }
        if !creates { _ = try environment() }
        if creates, !isNew, try current() == nil { try checkIsFree() }
        guard let kind = FileSystem.remoteKind(path: path) else { return }
        throw LMDBError(
            .unsupportedFileSystem, operation: "open", path: path,
            message:
                "The directory is on \(kind), which cannot carry LMDB's locks and maps: put the store on a local "
                + "disk.")
    }

    /// Files that Traylog's programs keep beside a store, and that may stay when it is made anew.
    private static let companions: Set = [
        "archived-to", "checkpoint.key", "checkpoint.key.pub", "checkpoint.witnessed", "devices.jsonl", "failed-read",
        "failed-replay", "failed-verify", "failed-witness", "last-backup", "last-verified", "last-witnessed",
        "lost+found",
        "open.lock", "partitions", "wake", "writer.lock", "CURRENT.new",
    ]

    /// Refuses to make a store among files that do not belong to one.
    ///
    /// What a killed process left of a new store, ``companions`` and hidden files are no hindrance.
    private func checkIsFree() throws(LMDBError) {
        let names = try LMDBError.attempt("open", path, Files.names(in: path)).filter { name in
            // Somebody else may be making the store since the look at `CURRENT`; the claims say who is first.
            name != "CURRENT" && !Self.companions.contains(name) && !name.hasPrefix(".")
                && !name.hasPrefix("checkpoint.conflict-")
                && !EnvironmentDirectory(store: path, name: name).isOurs
        }
        guard let first = names.first else { return }
        let others = names.count > 1 ? " and \(names.count - 1) more" : ""
        throw LMDBError(
            .unusableTarget, operation: "create", path: path,
            message:
                "The directory has no store, and other files (\(first)\(others)): give the directory of a store, or a new "
                + "or empty one.")
    }

    /// Reserves the store in this process.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen``, also when another name leads to the same data file.
    func claim() throws(LMDBError) -> EnvironmentRegistry.Claim {
        let identity = try status(of: path).identity
        guard let claim = EnvironmentRegistry.claim([identity], unlessOpen: dataStatus?.identity) else {
            throw Self.alreadyOpen(path)
        }
        return claim
    }

    static func alreadyOpen(_ path: String) -> LMDBError {
        LMDBError(
            .alreadyOpen, operation: "open", path: path,
            message: "This process has the store open already: share that one, or close it first.")
    }

    /// That of the data file in use, whose owner is the store's; nil when there is none.
    var dataStatus: FileStatus? {
        guard let environment = try? environment() else { return nil }
        return try? FileStatus(path: environment.dataPath)
    }

    /// The environment that `CURRENT` names, which need not be there; nil when there is no `CURRENT`.
    func current() throws(LMDBError) -> EnvironmentDirectory? {
        let bytes: [UInt8]
        do {
            let file = try FileDescriptor(opening: currentPath, .reading)
            defer { file.close() }
            bytes = try file.read(64, at: 0)
        } catch {
            if error == .noEntry { return nil }
            throw .system(error, operation: "open", path: currentPath)
        }
        let line = String(decoding: bytes, as: UTF8.self)
        let current = EnvironmentDirectory(store: path, name: String(line.dropLast()))
        guard line.hasSuffix("\n"), current.number != nil else {
            throw LMDBError(
                .corrupted, operation: "open", path: currentPath,
                message:
                    "The file does not name a directory of the store: restore a backup, or write the name of the "
                    + "directory into it that has the data file, such as data-1.")
        }
        return current
    }

    /// The environment in use.
    ///
    /// - Throws: ``LMDBError/Code/notFound`` when there is no store, or none yet.
    func environment() throws(LMDBError) -> EnvironmentDirectory {
        guard let current = try current() else { throw missing(currentPath) }
        _ = try status(of: current.dataPath)
        return current
    }

    /// The same for who only reads, and answers from nothing that a power cut could take: while the environment of before is
    /// there, the name of this one may not be on disk.
    func environmentToRead() throws(LMDBError) -> EnvironmentDirectory {
        let environment = try environment()
        guard let number = environment.number, number > 1,
            Files.exists(EnvironmentDirectory(store: path, number: number - 1).path)
        else { return environment }
        do throws(LMDBError) {
            try syncNames()
        } catch  where error.code == .permissionDenied || error.code == .system(SystemError.invalidArgument.number) {
            // Without permission to read the directory it cannot be synced, and on a read-only file system nothing needs to be.
        }
        return environment
    }

    /// The same for the one process that may write, which begins with order: leftovers are taken away, and where there
    /// is no store, an empty one is made.
    ///
    /// - Parameter create: makes an environment with the store's tables in a directory.
    func takeOver(
        creates: Bool, create: (EnvironmentDirectory) throws(LMDBError) -> Void
    ) throws(LMDBError) -> EnvironmentDirectory {
        let current = try current()
        // A process killed between a renaming and its sync left names that a power cut could still take back.
        try syncNames()
        if let current, Files.exists(current.dataPath) {
            removeAll(but: current)
            return current
        }
        let others = try environments().filter {
            $0.number != nil && $0 != current && Files.exists($0.dataPath)
        }
        guard others.isEmpty else {
            throw LMDBError(
                .corrupted, operation: "open", path: currentPath,
                message:
                    "The file does not name the directory that has the data file: restore a backup, or write the name "
                    + "\(others[0].name) into it.")
        }
        guard creates else { throw missing(currentPath) }
        return try make(create)
    }

    /// Makes an empty store, which is there with the last renaming.
    private func make(_ create: (EnvironmentDirectory) throws(LMDBError) -> Void) throws(LMDBError)
        -> EnvironmentDirectory
    {
        let first = EnvironmentDirectory(store: path, number: 1)
        try LMDBError.attempt("sync", path, Files.sync(path + "/.."))
        try writeNext(first, like: nil)
        try switchToNext()
        try syncNames()
        removeAll(but: first)
        // Without a data file it is of no use, and in the way.
        remove(first)
        try LMDBError.attempt("create", first.draft.path, Files.createDirectory(first.draft.path))
        try create(first.draft)
        for made in [first.draft.dataPath, first.draft.path] { try LMDBError.attempt("sync", made, Files.sync(made)) }
        try LMDBError.attempt("create", first.path, Files.rename(first.draft.path, to: first.path))
        try syncNames()
        return first
    }

    /// Makes the directory of another environment beside the one in use, with the same mode and owner.
    ///
    /// - Throws: ``LMDBError/Code/alreadyOpen`` when this process fills one already.
    func addEnvironment() throws(LMDBError) -> (EnvironmentDirectory, EnvironmentRegistry.Claim) {
        let current = try environment()
        let next = EnvironmentDirectory(store: path, number: (current.number ?? 0) + 1)
        try LMDBError.attempt("create", next.path, Files.createDirectory(next.path))
        let status = try status(of: next.path)
        guard status.isDirectory else {
            throw LMDBError(
                .unusableTarget, operation: "create", path: next.path,
                message: "This is not a directory, but the store needs one with this name: move it away.")
        }
        guard let claim = EnvironmentRegistry.claim([status.identity]) else {
            throw LMDBError(
                .alreadyOpen, operation: "create", path: next.path,
                message: "This process rewrites the store already: wait for the end of that.")
        }
        // What a process left that was killed.
        try? removeFiles(of: next)
        Files.adopt(next.path, like: try? FileStatus(path: current.path))
        return (next, claim)
    }

    /// Gives the new files mode and owner of those that they will replace, and makes their names safe against power
    /// loss.
    func adopt(_ next: EnvironmentDirectory) throws(LMDBError) {
        let current = try environment()
        for (new, old) in [(next.dataPath, current.dataPath), (next.lockPath, current.lockPath)] {
            // By path: closing a descriptor of the lock file would drop LMDB's locks.
            Files.adopt(new, like: try? FileStatus(path: old))
        }
        try LMDBError.attempt("sync", next.path, Files.sync(next.path))
        try syncNames()
    }

    /// Writes the file that makes an environment the store's by ``switchToNext()``, safe against power loss.
    ///
    /// - Parameter current: the environment in use, whose owner and mode it gets.
    func writeNext(_ environment: EnvironmentDirectory, like current: EnvironmentDirectory?) throws(LMDBError) {
        let bytes = Array("\(environment.name)\n".utf8)
        try LMDBError.attempt(
            "write", nextPath, Files.write(bytes, toDraft: nextPath, owner: try? FileStatus(path: path)))
        if current != nil { Files.adopt(nextPath, like: try? FileStatus(path: currentPath)) }
    }

    /// Lets `CURRENT` name the environment that ``writeNext(_:like:)`` was told.
    func switchToNext() throws(LMDBError) {
        try LMDBError.attempt("replace", currentPath, Files.rename(nextPath, to: currentPath))
    }

    /// Makes the names in the directory safe against power loss.
    func syncNames() throws(LMDBError) {
        try LMDBError.attempt("sync", path, Files.sync(path))
    }

    /// Whether a name is one that a store without a data file may have already.
    func beginsWith(_ name: String) -> Bool {
        let names = [currentPath, nextPath, EnvironmentDirectory(store: path, number: 1).path]
        return names.contains("\(path)/\(name)")
    }

    /// Takes everything away that makes a directory a store, as far as that goes.
    func clear() {
        try? Files.remove(currentPath)
        removeAll(but: nil)
    }

    /// Takes an environment away, as far as that goes.
    func remove(_ environment: EnvironmentDirectory) {
        try? removeFiles(of: environment)
        try? Files.removeDirectory(environment.path)
    }

    /// Takes every other environment away, safe against power loss.
    ///
    /// - Throws: what kept one of the files; the others are gone.
    func removeOthers(than current: EnvironmentDirectory) throws(LMDBError) {
        for environment in try environments() where environment != current && Files.exists(environment.path) {
            try removeFiles(of: environment)
            try LMDBError.attempt("sync", environment.path, Files.sync(environment.path))
            // Files that are not ours may stay in it.
            try? Files.removeDirectory(environment.path)
        }
        try syncNames()
    }

    private func removeAll(but current: EnvironmentDirectory?) {
        try? Files.remove(nextPath)
        for environment in (try? environments()) ?? [] where environment != current { remove(environment) }
    }

    /// - Throws: what kept the first of the files that are still there.
    private func removeFiles(of environment: EnvironmentDirectory) throws(LMDBError) {
        guard (try? FileStatus(path: environment.path))?.isDirectory == true else { return }
        var problem: LMDBError?
        let files = try LMDBError.attempt("remove", environment.path, Files.names(in: environment.path))
        for file in files where file.hasPrefix("data.mdb") || ["journal", "lock.mdb"].contains(file) {
            let path = "\(environment.path)/\(file)"
            do throws(LMDBError) { try LMDBError.attempt("remove", path, Files.remove(path)) } catch {
                problem = problem ?? error
            }
        }
        if let problem { throw problem }
    }

    /// Those that are there, drafts included.
    private func environments() throws(LMDBError) -> [EnvironmentDirectory] {
        try LMDBError.attempt("open", path, Files.names(in: path))
            .map { EnvironmentDirectory(store: path, name: $0) }
            .filter(\.isOurs)
    }

    private func status(of file: String) throws(LMDBError) -> FileStatus {
        do {
            return try FileStatus(path: file)
        } catch {
            guard error == .noEntry || error == .notDirectory else {
                throw .system(error, operation: "open", path: file)
            }
            throw missing(file)
        }
    }

    private func missing(_ file: String) -> LMDBError {
        LMDBError(
            .notFound, operation: "open", path: file,
            message: "There is no store here.", storeAdvice: "Check the path, or open it for writing to create one.")
    }
}

/// The directory of one environment of LMDB, inside of the store's.
struct EnvironmentDirectory: Hashable, Sendable {
    /// The store's directory.
    let store: String
    let name: String
    /// Kept: each commit names it, should its sync fail.
    let path: String

    init(store: String, name: String) {
        (self.store, self.name) = (store, name)
        path = "\(store)/\(name)"
    }
}

extension EnvironmentDirectory {
    var dataPath: String { "\(path)/\(Environment.dataName)" }
    /// The newest commits, which the data file may not have on disk; missing until the first one.
    var journalPath: String { "\(path)/\(Environment.journalName)" }
    /// Never to be opened by us while the store is open: closing it would drop LMDB's locks in this process.
    var lockPath: String { path + "/lock.mdb" }

    private static let prefix = "data-"

    /// - Parameter number: numbers of one store only rise, so that a name never means two environments.
    init(store: String, number: UInt64) {
        self.init(store: store, name: "\(Self.prefix)\(number)")
    }

    /// Nil when the name is none that ``init(store:number:)`` gives.
    var number: UInt64? {
        guard name.hasPrefix(Self.prefix), let number = UInt64(name.dropFirst(Self.prefix.count)),
            name == "\(Self.prefix)\(number)"
        else { return nil }
        return number
    }

    /// The directory in which a new environment is made; it gets this one's name when it is whole.
    var draft: EnvironmentDirectory { EnvironmentDirectory(store: store, name: name + Self.draftEnding) }

    /// Whether the name belongs to an environment or a draft.
    var isOurs: Bool {
        if number != nil { return true }
        guard name.hasSuffix(Self.draftEnding) else { return false }
        return EnvironmentDirectory(store: store, name: String(name.dropLast(Self.draftEnding.count))).number != nil
    }

    private static let draftEnding = ".new"
}
