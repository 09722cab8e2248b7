extension Environment {
    /// The rights of an environment: reading, or writing too.
    package enum Access: Hashable, Sendable {
        /// Read and write; one environment on the machine.
        case readWrite
        /// Read; where the lock files cannot be written, without locks (``Environment/usesLocks``).
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

extension Environment {
    /// The options with which an environment is opened.
    package struct Configuration: Hashable, Sendable {
        /// The size to which the file may grow; address space only.
        ///
        /// All processes should use the same.
        package var mapSizeBytes: Int = 64 << 30
        package var durability: Durability = .durable
        /// Whether network and user-space file systems are accepted, at the caller's risk.
        package var allowRemoteFileSystem = false
        /// Whether a missing directory (0700) and data file (0600) are created; for ``Access/readWrite`` only.
        package var creates = true
        /// The size at which the journal begins anew, at most 2 MiB.
        package var journalBytes = 2 << 20
        /// For tests: whether account is taken of all pages after each commit, and the process ends at the first finding.
        package var accountsForCommits = false

        package init(
            mapSizeBytes: Int = 64 << 30, durability: Durability = .durable,
            allowRemoteFileSystem: Bool = false, creates: Bool = true
        ) {
            self.mapSizeBytes = mapSizeBytes
            self.durability = durability
            self.allowRemoteFileSystem = allowRemoteFileSystem
            self.creates = creates
        }
    }
}
