import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

/// Where the answers of a store come from: the writing process's memory and the file, or the file alone.
///
/// It lends snapshots: each is begun for one call, and ended with it.
package protocol SnapshotSource: Sendable {
    var directory: String { get }
    var environment: Environment { get }
    var tables: Tables { get }
    /// The present, by the store's clock.
    var now: Timestamp { get }

    /// The newest event.
    func head() throws -> UInt64
    /// The user's tray after the head; an empty one for somebody unknown.
    ///
    /// - Throws: ``Refusal`` `invalid` for what cannot be a name; what reading throws.
    func tray(of user: String) throws -> Tray
    /// The same where it takes no wait for a disk, with the number of the user's stream; else nil.
    func knownTray(of user: String) throws -> (tray: Tray, stream: UInt32)?
    /// The version of the user's tray, where that takes no wait for a disk; else nil.
    func knownVersion(of user: String) throws -> TrayVersion?
    /// Whether the user's state is in memory, so that queries of it hardly wait for the disk.
    func isInMemory(_ user: String) -> Bool
    /// Lends the store, to a query that concerns no user.
    func read<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws -> Answer
    /// Lends one user's state after the head.
    func read<Answer>(
        _ reading: UserReading, of user: String, _ body: (UserSnapshot) throws -> Answer
    ) throws -> Answer
    /// Lends the state of a stream after the head, a user's or a topic's; nil for a stream that has no events.
    func read<Answer>(
        _ stream: StreamID, _ body: (UserSnapshot, _ isTopic: Bool) throws -> Answer
    ) throws -> Answer?
    /// Lends the store, and the users whose names may not be in its table of names yet, in any order.
    func readUsers<Answer>(_ body: (StoreSnapshot, _ unnamed: [String]) throws -> Answer) throws -> Answer
    /// Lends the store with counts.
    func readCounts<Answer>(_ body: (StoreSnapshot, StoreCounts) throws -> Answer) throws -> Answer
}

extension SnapshotSource {
    /// The event with which a scheduled broadcast arrived; nil while it has not.
    ///
    /// - Parameter stream: the topic's.
    package func arrival(of item: UInt64, in stream: StreamID) throws -> UInt64? {
        try read(stream) { topic, _ -> UInt64? in
            guard let entry = try topic.state.entry(of: item, stored: topic.pages) else { return nil }
            return try topic.state.shown(entry, stored: topic.pages).arrival
        } ?? nil
    }
}

/// How a user's state is wanted.
package enum UserReading {
    /// For answers as of now.
    case now
    /// With what looking back takes (``UserSnapshot/at(_:)-(UInt64)``).
    case past
    /// From the log alone, because what is stored is damaged.
    case refolded
}

/// Counts that a snapshot alone does not tell.
package struct StoreCounts {
    /// Events that the stored states do not hold.
    package var unflushed: UInt64
    /// Streams that have events, those of topics and of erased users included.
    package var streams: UInt64
    package var topics: UInt64
    /// Damaged states that this process folded anew and stores again.
    package var refolded: UInt64
    /// The memory that states take, in bytes.
    package var cached: UInt64

    /// The users with events.
    ///
    /// - Parameter record: the one of the same snapshot.
    /// - Throws: ``PackedError`` `damaged`: the record's count does not come from the streams.
    package func users(_ record: StoreRecord) throws -> UInt64 {
        let others = topics.addingReportingOverflow(record.erased)
        guard !others.overflow, others.partialValue <= streams else {
            throw PackedError.damaged("more erased users than streams")
        }
        return streams - others.partialValue
    }

    package init(unflushed: UInt64, streams: UInt64, topics: UInt64, refolded: UInt64 = 0, cached: UInt64 = 0) {
        self.unflushed = unflushed
        self.streams = streams
        self.topics = topics
        self.refolded = refolded
        self.cached = cached
    }
}
