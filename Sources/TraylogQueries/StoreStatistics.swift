@_spi(Replication) import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Operations) import TraylogStates

/// Figures of a store for its operator.
public struct StoreStatistics: Hashable, Sendable, Decodable {
    /// A process that has a read transaction open.
    @_spi(Operations) public struct Reader: Hashable, Sendable, Codable {
        /// The process.
        public var pid: Int32
        /// Commits since the reader's snapshot.
        public var lag: UInt64

        /// A reader's process and how many events behind the head its snapshot is.
        public init(pid: Int32, lag: UInt64) {
            self.pid = pid
            self.lag = lag
        }
    }

    /// A process that has the store open for writing.
    @_spi(Operations) public struct Writer: Hashable, Sendable, Codable {
        /// Its process.
        public var pid: Int32
        /// The name of its machine.
        public var host: String
        /// When it opened the store, to the second.
        public var since: Timestamp

        /// The process that holds the store open for writing, its machine, and since when.
        public init(pid: Int32, host: String, since: Timestamp) {
            self.pid = pid
            self.host = host
            self.since = since
        }
    }

    /// The newest event.
    public var head: Seq = .zero
    /// When the newest event was recorded; nil in an empty store.
    public var lastEventAt: Timestamp?
    /// Expiries, snoozes, mutes and reminders whose time has come and that a tick would still deal with, up to 1,000.
    ///
    /// What a tick would skip, such as the snooze of a deleted item, does not count.
    public var overdue = 0
    /// Since when the oldest of them is due.
    @_spi(Operations) public var overdueSince: Timestamp?
    /// Events that left the log.
    @_spi(Operations) public var dropped: UInt64 = 0
    /// Users who were erased.
    @_spi(Operations) public var erased: UInt64 = 0
    /// Where the store began to go another way than the store that it was copied from.
    @_spi(Replication) @_spi(Operations) public var history = StoreHistory()
    /// Nil while nobody has the store open for writing.
    @_spi(Operations) public var writer: Writer?
    /// Events below it may be compacted away; 0 before the first compaction.
    public var floor: Seq = .zero
    /// Events that the log holds.
    public var events: UInt64 = 0
    /// Users with events.
    public var users: UInt64 = 0
    /// Topics with broadcasts.
    public var topics: UInt64 = 0
    /// The size of the file in bytes.
    public var bytes: UInt64 = 0
    /// The free pages in the file, in bytes.
    public var freeBytes: UInt64 = 0
    /// The size that the file may reach, in bytes.
    public var mapSizeBytes: UInt64 = 0
    /// Processes that read at this moment.
    @_spi(Operations) public var readers: [Reader] = []
    /// Events in the log that the stored states do not hold yet.
    @_spi(Operations) public var unflushed: UInt64 = 0
    /// Stored states with a wrong checksum.
    ///
    /// Queries of their users fail; `traylog replay --rebuild` derives the states from the log again. 0 where states were not
    /// checked.
    @_spi(Operations) public var damagedStates: UInt64 = 0
    /// Damaged states that were folded again from the log since the store was opened for writing; 0 for a reader.
    @_spi(Operations) public var refoldedStates: UInt64 = 0
    /// The memory that states of users and topics take in this process, in bytes; 0 for a reader.
    @_spi(Operations) public var cachedBytes: UInt64 = 0
    /// Entries and bytes of each table of the file.
    @_spi(Operations) public var tables: [Table] = []
    /// The stored custom projections.
    @_spi(Operations) public var projections: [StoredProjection] = []

    /// A table of the file.
    @_spi(Operations) public struct Table: Hashable, Sendable, Codable {
        /// Its name (Docs/internals/format.md, "Tables").
        public var name: String
        /// Its rows.
        public var entries: UInt64
        /// The size of its pages.
        public var bytes: UInt64

        /// A table's name, its rows, and the bytes of its pages.
        public init(name: String, entries: UInt64, bytes: UInt64) {
            self.name = name
            self.entries = entries
            self.bytes = bytes
        }
    }

    /// The statistics of an empty store.
    package init() {}
}

extension SnapshotSource {
    /// - Parameter checkingStates: also counts damaged states, which reads every one.
    package func statistics(checkingStates: Bool = true) throws -> StoreStatistics {
        let information = try environment.information()
        let readers = environment.readers().map { StoreStatistics.Reader(pid: $0.processID, lag: $0.lag) }
        var (statistics, states, end) = try readCounts { store, counts in
            var statistics = try store.statistics(counts, pageBytes: information.pageSizeBytes, environment)
            statistics.projections = try store.read { try tables.projections.all(in: $0) }
            return (statistics, store.states, StreamID(rawValue: UInt32(clamping: counts.streams + 1)))
        }
        statistics.bytes = UInt64(information.fileBytes)
        statistics.freeBytes = UInt64(information.freePages * information.pageSizeBytes)
        statistics.mapSizeBytes = UInt64(information.mapSizeBytes)
        statistics.readers = readers
        statistics.writer = environment.writer().map {
            StoreStatistics.Writer(
                pid: $0.processID, host: $0.host, since: Timestamp(milliseconds: $0.sinceSeconds * 1_000))
        }
        (statistics.overdue, statistics.overdueSince) = try overdue(at: now)
        guard checkingStates else { return statistics }
        // In parts, so that no read transaction lives long.
        statistics.damagedStates = try stride(from: .first, to: end, by: 10_000).reduce(0) { count, first in
            try Cancellation.checkCurrent()
            return try count
                + environment.read { try states.countDamaged(first..<min(first.advanced(by: 10_000), end), in: $0) }
        }
        return statistics
    }

    /// How much a tick would deal with, up to 1,000, and since when the oldest of it is due.
    ///
    /// It looks at the rows of what may be due, at most at 20,000, because rows of deleted items stay for years.
    private func overdue(at now: Timestamp) throws -> (count: Int, since: Timestamp?) {
        var (count, since) = (0, Timestamp?.none)
        for phase in DueEntry.Phase.allCases {
            var last: DueEntry?
            for _ in 0..<20 where count < 1_000 {
                try Cancellation.checkCurrent()
                let entries = try environment.read {
                    try tables.derived.dues.entries(of: phase, after: last, through: now, limit: 1_000, in: $0)
                }
                for (stream, entries) in Dictionary(grouping: entries, by: \.stream) {
                    let due = try due(entries, of: stream)
                    count += due.count
                    if let first = due.map(\.due).min() { since = min(since ?? first, first) }
                }
                last = entries.last
                guard entries.count == 1_000 else { break }
            }
        }
        return (min(count, 1_000), since)
    }

    /// The entries of a stream that a tick would deal with; all of a stream whose state cannot be read, as a tick cannot, either.
    private func due(_ entries: [DueEntry], of stream: StreamID) throws -> [DueEntry] {
        do {
            return try read(stream) { user, isTopic in
                try entries.filter { try user.state.isDue($0, isTopic: isTopic, stored: user.pages) }
            } ?? []
        } catch is PackedError {
            return entries
        } catch is CodecError {
            return entries
        }
    }
}

extension StoreSnapshot {
    /// The statistics of the log, the streams and the tables in this snapshot.
    fileprivate func statistics(
        _ counts: StoreCounts, pageBytes: Int, _ environment: Environment
    ) throws -> StoreStatistics {
        var statistics = StoreStatistics()
        statistics.head = Seq(head)
        statistics.dropped = record.dropped
        statistics.erased = record.erased
        statistics.history = record.history
        if head > 0 { statistics.lastEventAt = try event(Seq(head)).recordedAt }
        statistics.floor = record.floor.seq
        statistics.events = head - min(record.dropped, head)
        statistics.unflushed = counts.unflushed
        statistics.topics = counts.topics
        statistics.users = try counts.users(record)
        statistics.refoldedStates = counts.refolded
        statistics.cachedBytes = counts.cached
        try read { transaction in
            for name in Tables.allNames {
                let table = try transaction.statistics(environment.database(name))
                guard table.entries > 0 else { continue }
                statistics.tables.append(
                    StoreStatistics.Table(
                        name: name, entries: UInt64(table.entries), bytes: UInt64(table.pages * pageBytes)))
            }
        }
        return statistics
    }
}
