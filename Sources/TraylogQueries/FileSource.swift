import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Answers from the file alone: the stored states, and a fold of the log's tail over them.
package final class FileSource: SnapshotSource {
    package let directory: String
    package let environment: Environment
    package let tables: Tables
    /// The environment, or the one file of it that a check reads.
    package let rows: any ReadOrigin
    private let tail = Monitor<KnownTail?>(nil)
    private let categoryNames = CategoryNames()
    package let topicStretches = TopicStretches()

    package init(directory: String, environment: Environment, tables: Tables, pinned: PinnedFile? = nil) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        rows = pinned ?? environment
    }

    /// A process that only reads does not know the writer's clock.
    package var now: Timestamp { Timestamp(milliseconds: SystemClock.nowMilliseconds()) }

    package func head() throws -> UInt64 { try read { $0.head } }

    package func tray(of user: String) throws -> Tray {
        try Limits.check(identifier: user, "user")
        return try readTail { try $0.tray(of: user, topicStretches) }
    }

    package func knownTray(of user: String) -> (tray: Tray, stream: UInt32)? { nil }

    package func isInMemory(_ user: String) -> Bool { false }

    package func knownVersion(of user: String) -> TrayVersion? { nil }

    package func read<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws -> Answer {
        let store = try StoreSnapshot(rows, in: directory, tables: tables, categoryNames: categoryNames)
        defer { store.end() }
        return try body(store)
    }

    package func read<Answer>(
        _ reading: UserReading, of user: String, _ body: (UserSnapshot) throws -> Answer
    ) throws -> Answer {
        try readTail { snapshot in try body(snapshot.user(user, isRefolded: reading == .refolded)) }
    }

    package func read<Answer>(
        _ stream: StreamID, _ body: (UserSnapshot, _ isTopic: Bool) throws -> Answer
    ) throws -> Answer? {
        try readTail { snapshot in
            guard let (user, isTopic) = try snapshot.state(of: stream) else { return nil }
            return try body(user, isTopic)
        }
    }

    package func readUsers<Answer>(_ body: (StoreSnapshot, _ unnamed: [String]) throws -> Answer) throws -> Answer {
        try readTail { try body($0.store, $0.tail.users(through: $0.store.head)) }
    }

    package func readCounts<Answer>(_ body: (StoreSnapshot, StoreCounts) throws -> Answer) throws -> Answer {
        try readTail { snapshot in
            let (store, record) = (snapshot.store, snapshot.store.record)
            let (streams, topics) = snapshot.tail.newStreams(of: store)
            return try body(
                store,
                StoreCounts(
                    unflushed: store.head - record.states.through,
                    streams: UInt64(record.states.nextStream.rawValue) - 1 + streams,
                    topics: record.states.topics + topics))
        }
    }

    /// Lends a snapshot with all that the tail says up to its head.
    ///
    /// As a rule, one transaction is enough. Where the tail is long and unknown, several are used, none of them long-lived, and the
    /// last one is the snapshot.
    package func readTail<Answer>(_ body: (FileSnapshot) throws -> Answer) throws -> Answer {
        var isFar = false
        defer { if isFar { try? environment.expectScan(false) } }
        while true {
            try Cancellation.checkCurrent()
            let answer: Answer? = try read { store in
                let tail = knownTail(of: store.record)
                if try tail.extend(to: store) { return try body(FileSnapshot(store: store, tail: tail)) }
                return nil
            }
            if let answer { return answer }
            if !isFar {
                // A machine that was just started has nothing of the file in memory.
                try environment.expectScan(true)
                isFar = true
            }
        }
    }

    private func knownTail(of record: StoreRecord) -> KnownTail {
        tail.withLock { tail in
            if let tail, tail.serves(record) { return tail }
            let new = KnownTail(record)
            // Another thread may be ahead.
            if !(tail?.isNewer(than: record) ?? false) { tail = new }
            return new
        }
    }
}

extension FileSource {
    /// The states that a compaction kept of each stream, for a fold that takes long.
    package func bases(_ record: StoreRecord) -> FoldBases { FoldBases(of: record, tables, rows) }
}
