import TraylogArchive
import TraylogDomain
import TraylogLog

extension TrayQueries {
    /// Opens the archives of this store in `directory`, where `traylog compact --archive` wrote them.
    ///
    /// - Throws: ``TraylogError/failed(_:)``: `notFound` (no such directory, or no archive in it), `foreignFile` (another
    ///   store's, or none of Traylog's), `newerFormat`, `damaged`, `permissionDenied`.
    public func archives(in directory: String) throws(TraylogError) -> Archives {
        let identity = try identity()
        return try queries.answer { _ in Archives(contents: try ArchiveSet.open(directory, store: identity)) }
    }

    /// What archives of the store say whose they are.
    package func identity() throws(TraylogError) -> StoreIdentity {
        try queries.answer { source in
            try source.environment.read { try StoreRecord.read(source.tables.meta, in: $0) }?.identity ?? .none
        }
    }

    /// A user's own events from `from` on, oldest first, at most `limit`, with those that compactions archived.
    ///
    /// - Complexity: O(events in the archives between the first and the last one returned), and what
    ///   ``history(of:from:limit:asOf:)`` costs.
    public func history(
        of user: String, from: Seq = 1, limit: Int = .max, asOf: Moment? = nil, including archives: Archives
    ) throws(TraylogError) -> [Event] {
        let last = try end(asOf)
        try queries.answer { _ in try Limits.check(identifier: user, "user") }
        var log = try MergedLog(queries, archives, of: user, from: from.rawValue, through: last)
        return try log.events(limit: limit)
    }

    /// Events of the log from `from` on, at most `limit`, with those that compactions archived; fewer only at the head, or
    /// at the moment `asOf`. What a compaction dropped without an archive is passed over.
    public func events(
        from: Seq = 1, limit: Int = .max, asOf: Moment? = nil, including archives: Archives
    ) throws(TraylogError) -> [Event] {
        var log = try MergedLog(queries, archives, of: nil, from: from.rawValue, through: try end(asOf))
        return try log.events(limit: limit)
    }

    private func end(_ asOf: Moment?) throws(TraylogError) -> UInt64 {
        guard let asOf else { return try head().rawValue }
        return try seq(of: asOf).rawValue
    }
}

// The same for tasks.
extension TrayQueries {
    /// Opens the archives of this store in `directory`.
    public func archives(in directory: String) async throws(TraylogError) -> Archives {
        let store = BlockingQueries(queries)
        return try await queries.pool.run { () throws(TraylogError) in try store.archives(in: directory) }
    }

    /// A user's own events with those that compactions archived.
    public func history(
        of user: String, from: Seq = 1, limit: Int = .max, asOf: Moment? = nil, including archives: Archives
    ) async throws(TraylogError) -> [Event] {
        let store = BlockingQueries(queries)
        return try await queries.pool.run { () throws(TraylogError) in
            try store.history(of: user, from: from, limit: limit, asOf: asOf, including: archives)
        }
    }

    /// Events of the log with those that compactions archived.
    public func events(
        from: Seq = 1, limit: Int = .max, asOf: Moment? = nil, including archives: Archives
    ) async throws(TraylogError) -> [Event] {
        let store = BlockingQueries(queries)
        return try await queries.pool.run { () throws(TraylogError) in
            try store.events(from: from, limit: limit, asOf: asOf, including: archives)
        }
    }
}
