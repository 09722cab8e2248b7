import CTraylogLMDB
import TraylogPages

extension Environment {
    /// Whether the store's names lead to another file by now.
    ///
    /// A lock file of its own tells that it is whole: with a data file of the same lock file we would take our own
    /// locks away.
    func isReplaced(_ file: EnvironmentFile) -> Bool {
        guard let now = StoreFiles(StoreLocation(directory: directory)) else { return false }
        return now.data != file.identity.data && now.lock != file.identity.lock
    }

    /// Goes on with the file that has taken the place of `old`; a millisecond.
    ///
    /// Transactions of `old` go on, this thread's too, and nobody waits for them.
    ///
    /// - Returns: whether to begin again; false when the environment closes.
    /// - Throws: what keeps the new file from being opened.
    func follow(_ old: EnvironmentFile) throws(LMDBError) -> Bool {
        guard beginSuccession() else { return false }
        defer { endSuccession() }
        // Another thread may have been faster.
        guard file === old else { return true }
        try openLock?.acquire()
        defer { openLock?.release() }
        guard isReplaced(old) else { return true }
        let location = StoreLocation(directory: directory)
        _ = try Preflight.examine(path: location.dataPath)
        let mapped = try MappedStore(
            location, access: access, databases: databaseNames, configuration: configuration)
        let new = try Self.own(mapped, location)
        new.reap()
        go(on: new)
        return true
    }

    /// Claims what LMDB has opened, or closes it again.
    static func own(_ mapped: MappedStore, _ location: StoreLocation) throws(LMDBError) -> EnvironmentFile {
        guard let files = StoreFiles(location), let claim = EnvironmentRegistry.claim([files.data]) else {
            unsafe mdb_env_close(mapped.handle)
            throw StoreLocation.alreadyOpen(location.directory)
        }
        return EnvironmentFile(mapped, identity: files, claim: claim)
    }
}
