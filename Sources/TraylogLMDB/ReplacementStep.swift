extension Environment {
    /// What has been done of a replacement, for tests that end it there.
    package enum ReplacementStep: String, CaseIterable, Sendable {
        /// The successor is on disk.
        case synced
        /// The old file says that it is being replaced.
        case marked
        /// The lock file has its new name.
        case lockRenamed
        /// The data file has its new name: the store is the new one.
        case dataRenamed
        /// The names are on disk.
        case namesSynced
        /// The directory of the successor is gone.
        case removed
    }
}
