extension Environment {
    /// The options with which an environment is opened.
    package struct Configuration: Hashable, Sendable {
        /// The size to which the file may grow; address space only. All processes should use the same.
        package var mapSizeBytes: Int = 64 << 30
        package var durability: Durability = .durable
        /// Whether network and user-space file systems are accepted, at the caller's risk.
        package var allowRemoteFileSystem = false
        /// Whether a missing directory (0700) and data file (0600) are created; for ``Access/readWrite`` only.
        package var creates = true

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
