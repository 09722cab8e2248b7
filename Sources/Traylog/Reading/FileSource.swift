import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogPlatform
import TraylogLog

/// Answers from the file alone: the stored states, and a fold of the log's tail over them.
final class FileSource: ViewSource {
    let directory: String
    let environment: Environment
    let tables: Tables
    private let tail = Monitor(KnownTail())
    private let categoryNames = CategoryNames()

    /// What this process has seen of the tail so far.
    private struct KnownTail: Sendable {
        var generation = Generation.first
        /// As of how many erasures names are known.
        var erased: UInt64 = 0
        /// The events after its start through `end`.
        var chains = TailChains()
        var end: UInt64 = 0
        /// Streams that are newer than the stored names; the numbers from `firstNew` on.
        var firstNew: UInt32 = 0
        var users: [UserName: UInt32] = [:]
        /// The same for topics, by identity.
        var topics: [UInt64: UInt32] = [:]
        var known = StreamSet()
    }

    /// The store as one read transaction shows it.
    fileprivate struct Snapshot {
        let record: StoreRecord
        let head: UInt64
    }

    init(directory: String, environment: Environment, tables: Tables) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
    }

    func view(of user: String, at moment: UInt64?) throws -> UserView {
        guard let stream = try stream(of: .user(user)) else {
            let now = try snapshot()
            return UserView(
                user: user, head: Seq(moment ?? now.head), state: TrayState(), hasher: now.record.hasher,
                pages: pages(0, now, limit: 0))
        }
        let isErased = try Pseudonym.stream(of: user) == stream && erasedStream(user, snapshot()) != nil
        let view = try view(stream: stream, name: isErased ? .erased(stream) : .user(user))
        guard let moment else { return view }
        return try view.past(moment, history: FileHistory(source: self, now: snapshot(), stored: view.pages))
    }

    func stream(of user: String) throws -> UInt32? { try stream(of: .user(user)) }

    /// The stream of a user or a topic; nil for one that never had an event.
    func stream(of name: StreamName) throws -> UInt32? {
        let now = try snapshot()
        if case .erased(let stream) = name { return stream }
        guard case .user(let user) = name else {
            return try stream(ofTopic: now.record.hasher.identity(of: name.text, as: .topic), now)
        }
        if let new = try knownTail(now, { $0.users[UserName(user, now.record.hasher)] }) { return new }
        if let stream = try stored(now, { names, transaction in try names.stream(of: user, in: transaction) }) {
            return stream
        }
        return try erasedStream(user, now)
    }

    /// The stream that a pseudonym stands for.
    private func erasedStream(_ user: String, _ now: Snapshot) throws -> UInt32? {
        guard let stream = Pseudonym.stream(of: user) else { return nil }
        let states = tables.states(now.record.generation)
        let root = try environment.read { try states.root(stream, in: $0) }
        return root?.name == .erased(stream) ? stream : nil
    }

    fileprivate func stream(ofTopic identity: UInt64, _ now: Snapshot) throws -> UInt32? {
        if let new = try knownTail(now, { $0.topics[identity] }) { return new }
        return try stored(now) { names, transaction in try names.stream(ofTopic: identity, in: transaction) }
    }

    private func stored<Answer>(
        _ now: Snapshot, _ body: (NameTable, borrowing ReadTransaction) throws -> Answer
    ) throws -> Answer {
        let names = tables.names(now.record.generation)
        return try environment.read { transaction in
            let record = try StoreRecord.read(tables.meta, in: transaction)
            guard record?.generation == now.record.generation, record?.floor == now.record.floor else {
                throw StaleRead()
            }
            return try body(names, transaction)
        }
    }

    /// The state of a stream after the head: the stored one, and the tail folded over it.
    ///
    /// - Parameter end: the last event to fold; for somebody who has no later events of an own.
    func view(stream: UInt32, name: StreamName, through end: UInt64? = nil) throws -> UserView {
        let now = try snapshot()
        let tail = try knownTail(now) { $0.chains.seqs(of: stream) }
        var state =
            try pages(stream, now, limit: 0).root(of: name)
            ?? TrayState(landmarkDistance: now.record.landmarkDistance)
        let pages = pages(stream, now, limit: state.appliedSeq)
        let own = tail.drop { $0 <= state.appliedSeq }
        var index = own.startIndex
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.endIndex ? own[index] : 0
        }
        let end = max(min(end ?? now.head, now.head), state.appliedSeq)
        try state.catchUp(
            own: own.first ?? 0, through: end, stored: pages,
            history: FileHistory(source: self, now: now, stored: pages), next: next)
        return UserView(
            user: name.text, head: Seq(max(now.head, state.appliedSeq)), state: state, hasher: now.record.hasher,
            pages: pages)
    }

    func head() throws -> Seq { Seq(try snapshot().head) }

    func unnamedUsers(after name: String?) throws -> [String] {
        let now = try snapshot()
        return try knownTail(now) { $0.users.keys.map(\.text) }
            .filter { user in name.map { $0.precedesInBytes(user) } ?? true }
            .sorted { $0.precedesInBytes($1) }
    }

    func basis() throws -> StoreBasis {
        let record = try snapshot().record
        return StoreBasis(generation: record.generation, floor: record.floor, erased: record.erased)
    }

    func progress() throws -> StoreProgress {
        let now = try snapshot()
        let (streams, topics) = try knownTail(now) { (UInt64($0.known.count), UInt64($0.topics.count)) }
        return StoreProgress(
            generation: now.record.generation, unflushed: now.head - now.record.flushedThrough,
            streams: UInt64(now.record.nextStream) - 1 + streams, topics: now.record.topics + topics,
            erased: now.record.erased)
    }

    fileprivate func pages(_ stream: UInt32, _ now: Snapshot, limit: UInt64) -> StoredPages {
        StoredPages(
            environment: environment, tables: tables, generation: now.record.generation, stream: stream,
            view: .current(limit: limit), floor: now.record.floor, isShared: true, categoryNames: categoryNames)
    }

    /// The seqs of a stream that the tail adds to what is stored.
    fileprivate func tailSeqs(of stream: UInt32, _ now: Snapshot) throws -> [UInt64] {
        try knownTail(now) { $0.chains.seqs(of: stream) }
    }

    private func snapshot() throws -> Snapshot {
        try environment.read { transaction in
            guard let record = try StoreRecord.read(tables.meta, in: transaction) else {
                throw StoreFailure(code: .notFound, message: "\(directory) holds no store yet")
            }
            let head = try tables.log.head(in: transaction).seq
            try record.check(head: head)
            return Snapshot(record: record, head: head)
        }
    }

    /// What the tail says, with the events that were appended since the last call.
    private func knownTail<Answer: Sendable>(
        _ now: Snapshot, _ body: (KnownTail) throws -> Answer
    ) throws -> Answer {
        try tail.withLock { tail in
            try extend(&tail, to: now)
            return try body(tail)
        }
    }

    /// Looks at the events that were appended since the last call.
    private func extend(_ tail: inout KnownTail, to now: Snapshot) throws {
        var next = KnownTail()
        // Taken out, so that it is changed in place; what a failure leaves is empty, and made anew by the next call.
        swap(&tail, &next)
        let isOutdated =
            next.generation != now.record.generation || next.erased != now.record.erased
            || next.end < now.record.flushedThrough
            || now.record.flushedThrough > next.chains.start + 1_000_000
        if isOutdated {
            next = KnownTail()
            next.generation = now.record.generation
            next.erased = now.record.erased
            next.chains = TailChains(after: now.record.flushedThrough)
            next.end = now.record.flushedThrough
            next.firstNew = now.record.nextStream
        }
        if next.end < now.head { try scan(&next, to: now) }
        swap(&tail, &next)
    }

    private func scan(_ tail: inout KnownTail, to now: Snapshot) throws {
        let hasher = now.record.hasher
        try tables.log.scanTail(
            after: tail.end, through: now.head, environment,
            wantsName: { $0.stream >= tail.firstNew && !tail.known.contains($0.stream) },
            { events in
                tail.chains.append(events)
                for case let (stream, name?) in events.lazy.map({ ($0.stream, $0.name) }) {
                    tail.known.insert(stream)
                    switch name {
                    case .user(let user): tail.users[UserName(user, hasher)] = stream
                    case .erased: break
                    case .topic(let topic): tail.topics[hasher.identity(of: topic, as: .topic)] = stream
                    }
                }
            })
        tail.end = now.head
    }
}

extension FileSource {
    /// The store's record and the head, as of now.
    func state() throws -> (record: StoreRecord, head: UInt64) {
        let now = try snapshot()
        return (now.record, now.head)
    }

    /// A stream's events after `seq` through `end`, by a look at every header in between.
    func seqs(of stream: UInt32, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard end > seq else { return [] }
        var seqs: [UInt64] = []
        try tables.log.scanTail(after: seq, through: end, environment, wantsName: { _ in false }) { events in
            for event in events where event.stream == stream { seqs.append(event.seq) }
        }
        return seqs
    }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try history(stream: 0).events(ofTopic: topic, after: seq, through: end)
    }

    /// The past of a stream, as of now.
    func history(stream: UInt32) throws -> FileHistory {
        let now = try snapshot()
        return FileHistory(source: self, now: now, stored: pages(stream, now, limit: .max))
    }

    /// What a compaction kept of each stream.
    func bases(_ record: StoreRecord) -> @Sendable (UInt32) throws -> FoldBase? {
        FoldBase.reader(
            of: StoredPages(
                environment: environment, tables: tables, generation: record.generation, stream: 0,
                view: .current(limit: .max), floor: record.floor, isShared: true, categoryNames: categoryNames),
            below: record.floorStreams)
    }

    /// Whose a stream is that is newer than the stored names; nil for others.
    func newName(of stream: UInt32) throws -> StreamName? {
        let now = try snapshot()
        guard let seq = try tailSeqs(of: stream, now).first else { return nil }
        let log = tables.log
        return try environment.read { transaction in
            try log.record(seq, in: transaction) { try log.streamName(of: seq, $0, in: transaction) }
        }
    }

    /// A state that was kept of exactly this event; nil when none was.
    func landmark(_ stream: UInt32, at seq: UInt64) throws -> Landmark<StoredPages>? {
        let found = try pages(stream, snapshot(), limit: .max).landmark(atOrBefore: seq)
        return found?.state.appliedSeq == seq ? found : nil
    }

    /// Whether the log still has an event that it had.
    func holdsEvent(_ seq: UInt64) throws -> Bool {
        let floor = try snapshot().record.floor
        guard floor.isAbove(seq) else { return true }
        return try environment.read { try tables.log.record(seq, in: $0) { _ in } } != nil
    }

    func isDue(_ entry: DueEntry) throws -> Bool {
        let dues = tables.dues(try snapshot().record.generation)
        return try environment.read { try dues.contains(entry, in: $0) }
    }
}

/// The past as the file tells it.
struct FileHistory: FoldHistory {
    let source: FileSource
    fileprivate let now: FileSource.Snapshot
    /// Of the user.
    let stored: StoredPages

    fileprivate init(source: FileSource, now: FileSource.Snapshot, stored: StoredPages) {
        self.source = source
        self.now = now
        self.stored = stored
    }

    func fact(_ seq: UInt64) throws -> Fact { try source.fact(seq, now.record.hasher) }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard let stream = try source.stream(ofTopic: topic, now) else { return [] }
        // Before the root: another thread may find that a flush has ended, and forget what the stored states hold by then.
        let rest = try source.tailSeqs(of: stream, now)
        let states = source.tables.states(now.record.generation)
        let root = try source.environment.read { try states.root(stream, in: $0) }
        guard root?.name.isTopic ?? true else { throw PackedError.damaged("the state of a topic") }
        let state = root?.state ?? TrayState()
        let known = try state.events(
            from: seq + 1, through: end, stored: source.pages(stream, now, limit: state.appliedSeq))
        return known + rest.filter { $0 > max(seq, state.appliedSeq) && $0 <= end }
    }

    func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        try stored.landmark(atOrBefore: seq)
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        try stored.firsts(of: space, changedSince: seq)
    }
}
