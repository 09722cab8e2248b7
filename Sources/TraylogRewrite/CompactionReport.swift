import TraylogDomain

/// The effect of a compaction, or of a dry run.
public struct CompactionReport: Hashable, Sendable {
    /// The first event whose state can be asked for from now on. Events below may be gone.
    public var floor: Seq
    /// The number of events that left the log.
    public var dropped: UInt64 = 0
    /// The number of events that left the log by kind, without zeros.
    public var kinds: [EventKind: UInt64] = [:]
    /// The name of the archive that holds them; nil when they were not archived.
    public var archive: String?
    /// The size of the store's data file before and after.
    public var bytesBefore: UInt64 = 0
    public var bytesAfter: UInt64 = 0

    public init(floor: Seq) {
        self.floor = floor
    }
}

/// The effect of an erasure.
public struct ErasureReport: Hashable, Sendable {
    /// The `erased` event; nil for an unknown user.
    public var seq: Seq?
    /// The name of the user from now on, for `history`.
    public var pseudonym: String?
    /// The number of events of the log that lost their content.
    public var events: UInt64 = 0
    /// The archives that were rewritten.
    public var archives: [String] = []

    public init() {}
}
