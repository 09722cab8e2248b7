/// When a store compacts itself, in the background (``StoreOptions/compaction``).
///
/// The store looks now and then. When enough has come to lie below the floor, or much of the file is free pages, it is
/// written anew beside itself and takes its own place, as by ``Store/compact(before:archive:isDryRun:)``; appends wait for
/// that no longer than for a few commits.
public struct CompactionPolicy: Hashable, Sendable {
    /// What happened in so many days stays, and can be asked for.
    public var keepDays: Int
    /// A directory for what leaves the log; nil to let it go for good.
    public var archive: String?
    /// A smaller file is left alone, in bytes.
    public var minimumBytes: UInt64 = 64 << 20
    /// Compacts when this share of the events has come to lie below the floor-to-be since the last time, 0…1.
    public var oldShare = 0.25
    /// Gives free pages back when they take this share of the file, 0…1.
    public var freeShare = 0.5
    /// How often to look.
    public var intervalSeconds = 3_600

    public init(keepDays: Int, archive: String? = nil) {
        self.keepDays = keepDays
        self.archive = archive
    }
}
