/// What an operator wants to know of a store.
public struct StoreStatistics: Hashable, Sendable {
    /// A process that has a read transaction open.
    public struct Reader: Hashable, Sendable {
        public var pid: Int32
        /// Commits since the reader's snapshot.
        public var lag: UInt64

        public init(pid: Int32, lag: UInt64) {
            self.pid = pid
            self.lag = lag
        }
    }

    public var head: Seq = .zero
    /// Events below it may be compacted away; 0 when nothing was.
    public var floor: Seq = .zero
    public var events: UInt64 = 0
    public var users: UInt64 = 0
    /// Topics that anything was broadcast to.
    public var topics: UInt64 = 0
    /// The file's size in bytes, and how much of it is free pages.
    public var bytes: UInt64 = 0
    public var freeBytes: UInt64 = 0
    public var mapSizeBytes: UInt64 = 0
    public var readers: [Reader] = []
    /// Events in the log that the stored states do not hold yet.
    public var unflushed: UInt64 = 0
    /// Stored states whose checksum does not match: queries of their users fail, and `traylog replay --rebuild` derives
    /// them from the log again.
    public var damagedStates: UInt64 = 0
    /// Damaged states that were folded anew from the log since the store was opened for writing; 0 for a reader.
    public var refoldedStates: UInt64 = 0
    /// Entries and bytes of each table of the file.
    public var tables: [Table] = []
    /// What is stored of custom projections.
    public var projections: [StoredProjection] = []

    public struct Table: Hashable, Sendable {
        public var name: String
        public var entries: UInt64
        public var bytes: UInt64

        public init(name: String, entries: UInt64, bytes: UInt64) {
            self.name = name
            self.entries = entries
            self.bytes = bytes
        }
    }

    public init() {}
}
