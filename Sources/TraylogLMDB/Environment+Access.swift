extension Environment {
    /// The rights of an environment: reading, or writing too.
    package enum Access: Hashable, Sendable {
        /// Read and write; one environment on the machine.
        case readWrite
        /// Read; the lock files must still be writable.
        case readOnly
    }

    /// The moment from which a commit is safe against power loss.
    package enum Durability: Hashable, Sendable {
        /// When `write` returns.
        case durable
        /// At the next commit or ``Environment/sync()``: power loss may take the last commit, never more or part of it.
        case relaxed
        /// At ``Environment/sync()`` only, and before it power loss may damage the file: for one that is being filled,
        /// and that nobody relies on yet. What was written is synced every few megabytes, because a file system may let
        /// the sync of another file wait for it.
        case deferred
    }
}
