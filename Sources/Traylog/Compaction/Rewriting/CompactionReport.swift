import TraylogDomain

/// What a compaction did, or would do.
public struct CompactionReport: Hashable, Sendable {
    /// The first event whose state can be asked for from now on; events below may be gone.
    public var floor: Seq
    /// How many events left the log.
    public var dropped: UInt64 = 0
    /// The same by kind; only those with any.
    public var kinds: [EventKind: UInt64] = [:]
    /// The name of the archive that holds them; nil without.
    public var archive: String?
    /// The size of the store's data file before and after.
    public var bytesBefore: UInt64 = 0
    public var bytesAfter: UInt64 = 0

    public init(floor: Seq) {
        self.floor = floor
    }
}
