extension Environment {
    /// A step of a replacement, for tests that end it there.
    package enum ReplacementStep: String, CaseIterable, Sendable {
        /// The successor is on disk, and so is the file that will name it.
        case synced
        /// The old file says that it is being replaced.
        case noted
        /// The successor is the store's.
        case renamed
        /// That is on disk.
        case namesSynced
        /// The files of before are gone.
        case removed
    }
}
