/// When a store compacts itself, in the background (``StoreOptions/compaction``).
///
/// The store looks from time to time. When enough events are old, or much of the file is free pages, it compacts like
/// ``Store/compact(before:archive:isDryRun:)``. Appends wait for that no longer than for a few commits.
public struct CompactionPolicy: Hashable, Sendable {
    /// Days of history to keep. Queries can ask for any moment in them.
    public var keepDays: Int
    /// The directory for archives of the events that leave the log; nil to delete them for good.
    public var archive: String?
    /// The smallest data file to compact, in bytes.
    public var minimumBytes: UInt64 = 64 << 20
    /// The share of events, 0…1, that must be older than ``keepDays`` and above the present floor.
    public var oldShare = 0.25
    /// The share of the file, 0…1, that must be free pages.
    public var freeShare = 0.5
    /// The time between two looks.
    public var intervalSeconds = 3_600

    public init(keepDays: Int, archive: String? = nil) {
        self.keepDays = keepDays
        self.archive = archive
    }
}
