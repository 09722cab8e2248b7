import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// Answers in the writing process: from the states in memory, which are never behind the last commit.
///
/// Each query takes the store's lock once, and copies under it all that it needs of memory (``StoreSnapshot``).
final class LiveSource: SnapshotSource {
    let directory: String
    let environment: Environment
    let tables: Tables
    let shared: StoreLock
    private let hasher: IdentityHasher

    init(
        directory: String, environment: Environment, tables: Tables, shared: StoreLock, hasher: IdentityHasher
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        self.hasher = hasher
    }

    func head() throws -> UInt64 { try withCore { $0.head.seq } }

    /// Most people look at a tray that did not change since it was answered last.
    func tray(of user: String) throws -> Tray {
        let identity = hasher.identity(of: user, as: .user)
        return try withCore { core in
            let head = core.head.seq
            if let known = core.answers.tray(
                of: user, identity: identity, asOf: head, lastTopicEvent: core.lastTopicEvent)
            {
                return known
            }
            // A tray that is known is that of a name that was checked.
            try Limits.check(identifier: user, "user")
            guard let slot = try core.slot(of: user, identity: identity) else {
                return Tray(user: user, asOf: Seq(head))
            }
            let tray = try core.current(slot).state.tray(of: user, asOf: Seq(head), source: core.pages(of: slot.stream))
            core.keep(tray, of: slot)
            return tray
        }
    }

    func read<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws -> Answer {
        let store = try withCore { try $0.lendSnapshot() }
        defer { store.end() }
        return try body(store)
    }

    func read<Answer>(
        _ reading: UserReading, of user: String, _ body: (UserSnapshot) throws -> Answer
    ) throws -> Answer {
        let identity = hasher.identity(of: user, as: .user)
        let (store, found) = try withCore { core in
            let slot = try core.slot(of: user, identity: identity)
            let found = try slot.map { slot in
                CopiedUser(
                    stream: slot.stream, state: reading == .refolded ? TrayState() : try core.current(slot).state,
                    past: reading == .now
                        ? nil
                        : UnstoredPast(landmarks: slot.current?.landmarks ?? [], topics: core.unstoredTopicEvents()))
            }
            return (try core.lendSnapshot(), found)
        }
        defer { store.end() }
        guard let found else { return try body(UserSnapshot(stranger: user, in: store)) }
        if reading == .refolded, let past = found.past {
            let refolded = try UserSnapshot(refolding: user, found.stream, in: store, through: store.head, past)
            return try body(refolded)
        }
        return try body(
            UserSnapshot(
                user: user, stream: found.stream, store: store, asOf: store.head, state: found.state,
                pages: store.pages(of: found.stream), past: found.past))
    }

    /// What the lock guards of a user, as a value that leaves it.
    private struct CopiedUser: Sendable {
        let stream: UInt32
        let state: TrayState
        let past: UnstoredPast?
    }

    func readUsers<Answer>(_ body: (StoreSnapshot, _ unnamed: [String]) throws -> Answer) throws -> Answer {
        let (store, unnamed) = try withCore { (try $0.lendSnapshot(), $0.unnamedUsers()) }
        defer { store.end() }
        return try body(store, unnamed)
    }

    func readCounts<Answer>(_ body: (StoreSnapshot, StoreCounts) throws -> Answer) throws -> Answer {
        let (store, counts) = try withCore { core in
            (
                try core.lendSnapshot(),
                StoreCounts(
                    unflushed: core.head.seq - core.flushedThrough, streams: core.committedStreams,
                    topics: core.committedTopics, refolded: core.refolded)
            )
        }
        defer { store.end() }
        return try body(store, counts)
    }

    private func withCore<Answer: Sendable>(_ body: (inout Core) throws -> Answer) throws -> Answer {
        // After a fork nobody may be left to give the lock back.
        try environment.checkProcess("read")
        return try shared.withLock { shared in
            guard !shared.isClosed else { throw TraylogError.closed(directory) }
            return try body(&shared.core)
        }
    }
}
