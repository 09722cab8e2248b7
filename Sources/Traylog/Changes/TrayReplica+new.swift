@_spi(Replication) import TraylogDomain
@_spi(Replication) import TraylogQueries
@_spi(Replication) import TraylogReplica

@_spi(Replication) extension TrayReplica {
    /// - Parameter snapshot: all pages of one snapshot, in order.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` when pages are missing, or belong to different snapshots.
    /// - Complexity: O(items).
    public init(_ snapshot: [TraySnapshot]) throws(TraylogError) {
        var random = SystemRandomNumberGenerator()
        try self.init(snapshot, hasher: IdentityHasher(key0: random.next(), key1: random.next()))
    }

    /// Folds in the changes that follow.
    ///
    /// ```swift
    /// var replica = try TrayReplica([try await store.snapshot(of: "ann")])
    /// let changes = try await store.changes(of: "ann", after: replica.through, history: replica.history)
    /// try replica.apply(changes)
    /// ```
    ///
    /// - Parameter changes: this user's changes after ``through``. Earlier events are ignored.
    /// - Throws: ``TraylogError/refused(_:)``: `staleSnapshot`, take a new snapshot; `erased`, the user was
    /// erased. The replica then stays as it was.
    /// - Complexity: as the store's. An `undone` folds again from the snapshot on.
    public mutating func apply(_ changes: Changes) throws(TraylogError) {
        try apply(changes.events, through: changes.through, stream: changes.stream, history: changes.history)
    }
}
