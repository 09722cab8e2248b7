import TraylogDomain
import TraylogStates

/// Figures of a store for its operator.
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
    /// Events below it may be compacted away; 0 before the first compaction.
    public var floor: Seq = .zero
    public var events: UInt64 = 0
    public var users: UInt64 = 0
    /// Topics with broadcasts.
    public var topics: UInt64 = 0
    /// The size of the file in bytes.
    public var bytes: UInt64 = 0
    /// The free pages in the file, in bytes.
    public var freeBytes: UInt64 = 0
    public var mapSizeBytes: UInt64 = 0
    public var readers: [Reader] = []
    /// Events in the log that the stored states do not hold yet.
    public var unflushed: UInt64 = 0
    /// Stored states with a wrong checksum. Queries of their users fail; `traylog replay --rebuild` derives the states from
    /// the log again.
    public var damagedStates: UInt64 = 0
    /// Damaged states that were folded again from the log since the store was opened for writing; 0 for a reader.
    public var refoldedStates: UInt64 = 0
    /// Entries and bytes of each table of the file.
    public var tables: [Table] = []
    /// The stored custom projections.
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
