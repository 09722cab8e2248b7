@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogStates

/// Answers in the writing process: from the states in memory, which are never behind the last commit.
///
/// Each query takes the store's lock once, and copies under it all that it needs of memory (``StoreSnapshot``).
package final class LiveSource: SnapshotSource {
    package let directory: String
    package let environment: Environment
    package let tables: Tables
    let memory: StoreLock
    private let hasher: IdentityHasher
    private let clock: (@Sendable () -> Timestamp)?

    package init(
        directory: String, environment: Environment, tables: Tables, memory: StoreLock, hasher: IdentityHasher,
        clock: (@Sendable () -> Timestamp)?
    ) {
        self.clock = clock
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.memory = memory
        self.hasher = hasher
    }

    package var now: Timestamp { clock?() ?? Timestamp(milliseconds: SystemClock.nowMilliseconds()) }

    package func head() throws -> UInt64 { try withStore { $0.head.seq } }

    /// Most people look at a tray that did not change since it was answered last.
    package func tray(of user: String) throws -> Tray {
        let name = UserName(user, hasher)
        let known: Tray? = try withStore { store in
            if let known = store.answeredTray(of: name) { return known }
            // A known tray belongs to a name that was checked.
            try Limits.check(identifier: user, "user")
            let head = Seq(store.head.seq)
            guard let stream = try store.stream(of: name) else { return Tray(user: user, asOf: head) }
            return try store.tray(of: user, stream)
        }
        return try known ?? wideTray(of: user, name)
    }

    /// The names of many categories are looked up and sorted without the lock: others would wait for that.
    private func wideTray(of user: String, _ name: UserName) throws -> Tray {
        let (tray, stream) = try read(.now, of: user) { (try $0.tray(), $0.stream) }
        try withStore { try $0.keep(tray, of: name, stream) }
        return tray
    }

    /// Events of the store after which a state in memory may take long to catch up.
    private static let eventsAtOnce: UInt64 = 10_000

    package func knownTray(of user: String) throws -> (tray: Tray, stream: UInt32)? {
        let name = UserName(user, hasher)
        return try withStore { store in
            guard let stream = store.directory[name] else { return nil }
            if let tray = store.answeredTray(of: name) { return (tray, stream.number.rawValue) }
            guard Self.known(name, store) != nil, let tray = try store.tray(of: user, stream) else { return nil }
            return (tray, stream.number.rawValue)
        }
    }

    package func isInMemory(_ user: String) -> Bool {
        let name = UserName(user, hasher)
        return
            (try? withStore { Self.inMemory(name, $0) != nil }) ?? false
    }

    package func knownVersion(of user: String) throws -> TrayVersion? {
        let name = UserName(user, hasher)
        return try withStore { store in
            try Self.known(name, store).map { stream in
                TrayVersion(
                    stream: stream.number.rawValue, newestChange: Seq(try store.current(stream).state.events.last),
                    store.record.history)
            }
        }
    }

    /// A user whose state is in memory, and current soon.
    private static func inMemory(_ user: UserName, _ store: borrowing LiveStore) -> LiveStream? {
        guard let stream = store.directory[user], let state = stream.states.committed?.state,
            store.head.seq < state.appliedSeq + eventsAtOnce
        else { return nil }
        return stream
    }

    /// The same for one who follows no topic: nothing has to be looked up in the file.
    private static func known(_ user: UserName, _ store: borrowing LiveStore) -> LiveStream? {
        inMemory(user, store).flatMap { $0.states.committed?.state.topics.isEmpty == true ? $0 : nil }
    }

    package func read<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws -> Answer {
        let snapshot = try withStore { try $0.lendSnapshot() }
        defer { snapshot.end() }
        return try noting { try body(snapshot) }
    }

    package func read<Answer>(
        _ reading: UserReading, of user: String, _ body: (UserSnapshot) throws -> Answer
    ) throws -> Answer {
        let name = UserName(user, hasher)
        let (snapshot, found) = try withStore { store in
            let stream = try store.stream(of: name)
            let found = try stream.map { stream in
                let state = reading == .refolded ? CachedState(state: TrayState()) : try store.current(stream)
                return CopiedUser(
                    stream: stream.number, state: state.state, storedThrough: state.storedThrough,
                    past: reading == .now
                        ? nil
                        : UnstoredPast(
                            landmarks: stream.states.committed?.landmarks ?? [], topics: store.unstoredTopicEvents()))
            }
            return (try store.lendSnapshot(), found)
        }
        defer { snapshot.end() }
        return try noting {
            guard let found else { return try body(UserSnapshot(stranger: user, in: snapshot)) }
            if reading == .refolded, let past = found.past {
                return try body(
                    UserSnapshot(refolding: user, found.stream, in: snapshot, through: snapshot.head, past))
            }
            return try body(
                UserSnapshot(
                    user: user, stream: found.stream, store: snapshot, asOf: snapshot.head, state: found.state,
                    pages: snapshot.pages(of: found.stream, asOf: found.storedThrough), past: found.past))
        }
    }

    package func read<Answer>(
        _ number: StreamID, _ body: (UserSnapshot, _ isTopic: Bool) throws -> Answer
    ) throws -> Answer? {
        let (snapshot, found) = try withStore { store in
            let stream = try store.stream(number)
            let found = try stream.map { stream in
                let state = try store.current(stream)
                return (name: stream.name, state: state.state, storedThrough: state.storedThrough)
            }
            return (try store.lendSnapshot(), found)
        }
        defer { snapshot.end() }
        return try noting {
            guard let found else { return nil }
            return try body(
                UserSnapshot(
                    user: found.name.text, stream: number, store: snapshot, asOf: snapshot.head, state: found.state,
                    pages: snapshot.pages(of: number, asOf: found.storedThrough), past: nil),
                found.name.isTopic)
        }
    }

    /// A copy of a user's parts that the lock guards, as a value that leaves it.
    private struct CopiedUser: Sendable {
        let stream: StreamID
        let state: TrayState
        let storedThrough: UInt64
        let past: UnstoredPast?
    }

    package func readUsers<Answer>(_ body: (StoreSnapshot, _ unnamed: [String]) throws -> Answer) throws -> Answer {
        let (snapshot, new) = try withStore { (try $0.lendSnapshot(), $0.directory.newStreams) }
        defer { snapshot.end() }
        return try noting { try body(snapshot, new.users) }
    }

    package func readCounts<Answer>(_ body: (StoreSnapshot, StoreCounts) throws -> Answer) throws -> Answer {
        let (snapshot, counts) = try withStore { store in
            (
                try store.lendSnapshot(),
                StoreCounts(
                    unflushed: store.head.seq - store.record.states.through, streams: store.directory.streamCount,
                    topics: store.directory.topicCount, refolded: store.refolded,
                    cached: UInt64(clamping: store.states.byteCount))
            )
        }
        defer { snapshot.end() }
        return try noting { try body(snapshot, counts) }
    }

    private func withStore<Answer: Sendable>(_ body: (inout LiveStore) throws -> Answer) throws -> Answer {
        // After a fork nobody may be left to give the lock back.
        try environment.checkProcess("read")
        return try noting {
            try memory.withStates { memory in
                guard !memory.isClosed else { throw TraylogError.closed(directory) }
                return try body(&memory.store)
            }
        }
    }

    /// Lets damaged states that a query meets be derived anew.
    private func noting<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch {
            memory.note(error)
            throw error
        }
    }
}

extension LiveStore {
    /// Trays with more categories are made without the lock.
    private static let categoriesAtOnce = 256

    /// The user's tray after the head, which is kept for the next one who asks; nil for one with many categories.
    fileprivate mutating func tray(of user: String, _ stream: LiveStream) throws -> Tray? {
        let cached = try current(stream)
        let state = cached.state
        guard state.categories.count <= Self.categoriesAtOnce else { return nil }
        let tray = try state.tray(of: user, asOf: Seq(head.seq), source: pages(of: stream.number, cached))
        directory.keep(tray, of: stream)
        return tray
    }

    /// Keeps a tray that was made without the lock, if it is still so, and still that person's.
    fileprivate mutating func keep(_ tray: Tray, of user: UserName, _ number: StreamID) throws {
        guard let stream = try stream(of: user), stream.number == number,
            tail.last(of: stream.number) <= tray.asOf.rawValue,
            tail.lastTopicEvent <= tray.asOf.rawValue
        else { return }
        directory.keep(tray, of: stream)
    }
}
