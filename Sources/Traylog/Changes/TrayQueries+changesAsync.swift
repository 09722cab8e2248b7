@_spi(Replication) import TraylogQueries
@_spi(Replication) import TraylogDomain
@_spi(Replication) import TraylogReplica

// The same queries for tasks.
extension TrayQueries {
    /// A user's own events and the visible ones of topics after `seq`, in order.
    ///
    /// ```swift
    /// let changes = try await store.changes(of: "ann", after: 100)
    /// print(changes.events.count, changes.through)
    /// ```
    @_spi(Replication) public func changes(
        of user: String, after seq: Seq = .zero, history: StoreHistory? = nil, limit: Int = 1_000
    ) async throws(TraylogError) -> Changes {
        try await asking { store throws(TraylogError) in
            try store.changes(of: user, after: seq, history: history, limit: limit)
        }
    }

    /// The version of a user's tray.
    ///
    /// The version of a user who is in memory and follows no topic is returned at once; otherwise a thread of the store reads it.
    ///
    /// ```swift
    /// let version = try await store.version(of: "ann")
    /// ```
    @_spi(Replication) public func version(of user: String) async throws(TraylogError) -> TrayVersion {
        if let known = try queries.knownVersion(of: user) { return known }
        return try await asking { store throws(TraylogError) in try store.version(of: user) }
    }

    /// One page of a user's tray as it was right after an event.
    ///
    /// ```swift
    /// let snapshot = try await store.snapshot(of: "ann")
    /// var replica = try TrayReplica([snapshot])
    /// let changes = try await store.changes(of: "ann", after: snapshot.asOf, history: snapshot.history)
    /// try replica.apply(changes)
    /// ```
    @_spi(Replication) public func snapshot(
        of user: String, asOf: Moment? = nil, cursor: SnapshotCursor? = nil, limit: Int = 10_000, contents: Int = 200
    ) async throws(TraylogError) -> TraySnapshot {
        try await asking { store throws(TraylogError) in
            try store.snapshot(of: user, asOf: asOf, cursor: cursor, limit: limit, contents: contents)
        }
    }

    /// Whether a stream belonged to a person who was erased.
    @_spi(Operations) public func isErased(stream: UInt32) async throws(TraylogError) -> Bool {
        try await asking { store throws(TraylogError) in try store.isErased(stream: stream) }
    }

    /// The events that the store shares with its copies.
    ///
    /// They show whether a seq from before a restore still names the same event.
    ///
    /// ```swift
    /// let history = try await store.storeHistory()
    /// for fork in history.forks { print("a copy since event \(fork.after)") }
    /// ```
    @_spi(Replication) public func storeHistory() async throws(TraylogError) -> StoreHistory {
        try await asking { store throws(TraylogError) in try store.storeHistory() }
    }

    /// Identifies the store, in 32 characters.
    ///
    /// ```swift
    /// print(try await store.storeIdentity())
    /// ```
    @_spi(Replication) public func storeIdentity() async throws(TraylogError) -> String {
        try await asking { store throws(TraylogError) in try store.storeIdentity() }
    }
}
