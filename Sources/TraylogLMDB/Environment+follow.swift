import TraylogPages

extension Environment {
    /// Goes on with the environment that has taken the place of `old`, if one has; a millisecond.
    ///
    /// Transactions of `old` go on, this thread's too, and nobody waits for them.
    ///
    /// - Returns: whether to begin again; false when `old` is still the store's, or when the environment closes.
    /// - Throws: what keeps the new one from being found and opened.
    func follow(_ old: EnvironmentFile) throws(LMDBError) -> Bool {
        let store = StoreDirectory(path: directory)
        guard try store.current() != old.directory else { return false }
        guard beginSuccession() else { return false }
        defer { endSuccession() }
        // Another thread may have been faster.
        guard file === old else { return true }
        try openLock?.acquire()
        defer { openLock?.release() }
        let new = try Self.map(
            store.environment(), access: access, databases: databaseNames, configuration: configuration)
        new.reap()
        go(on: new)
        return true
    }
}
