import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Answers from the file alone: the stored states, and a fold of the log's tail over them.
final class FileSource: ViewSource {
    let directory: String
    let environment: Environment
    let tables: Tables
    private let tail = Monitor(KnownTail())

    /// What this process has seen of the tail so far.
    private struct KnownTail: Sendable {
        var generation = Generation.first
        /// Events after `start` through `end` are known.
        var start: UInt64 = 0
        var end: UInt64 = 0
        /// The seqs of each stream, ascending.
        var seqs: [UInt32: [UInt64]] = [:]
        /// Streams that are newer than the stored names; the numbers from `firstNew` on.
        var firstNew: UInt32 = 0
        var users: [UserName: UInt32] = [:]
        var known: Set<UInt32> = []
    }

    /// The store as one read transaction shows it.
    private struct Snapshot {
        let record: StoreRecord
        let head: UInt64
    }

    init(directory: String, environment: Environment, tables: Tables) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
    }

    func view(of user: String) throws -> UserView {
        guard let stream = try stream(of: user) else {
            let now = try snapshot()
            return UserView(
                user: user, head: Seq(now.head), state: TrayState(), hasher: now.record.hasher,
                pages: pages(0, now, limit: 0))
        }
        return try view(stream: stream, user: user)
    }

    /// The stream of a user; nil for one who never had an event.
    func stream(of user: String) throws -> UInt32? {
        let now = try snapshot()
        if let new = try knownTail(now, { $0.users[UserName(user, now.record.hasher)] }) { return new }
        let names = tables.names(now.record.generation)
        return try environment.read { transaction in
            guard try StoreRecord.read(tables.meta, in: transaction)?.generation == now.record.generation else {
                throw StaleRead()
            }
            return try names.stream(of: user, in: transaction)
        }
    }

    /// The state of a stream after the head: the stored one, and the tail folded over it.
    func view(stream: UInt32, user: String) throws -> UserView {
        let now = try snapshot()
        let seqs = try knownTail(now) { $0.seqs[stream] ?? [] }
        var state = try pages(stream, now, limit: 0).root(of: user) ?? TrayState()
        let pages = pages(stream, now, limit: state.appliedSeq)
        for seq in seqs where seq > state.appliedSeq && seq <= now.head {
            try state.apply(fact(seq, now.record.hasher), stored: pages)
        }
        return UserView(
            user: user, head: Seq(max(now.head, state.appliedSeq)), state: state, hasher: now.record.hasher,
            pages: pages)
    }

    private func fact(_ seq: UInt64, _ hasher: IdentityHasher) throws -> Fact {
        guard let fact = try environment.read({ try tables.log.fact(seq, hasher: hasher, in: $0) }) else {
            throw CodecError(.damaged, seq: seq, "it is missing from the log")
        }
        return fact
    }

    func head() throws -> Seq { Seq(try snapshot().head) }

    func unnamedUsers(after name: String?) throws -> [String] {
        let now = try snapshot()
        return try knownTail(now) { $0.users.keys.map(\.text) }
            .filter { user in name.map { $0.precedesInBytes(user) } ?? true }
            .sorted { $0.precedesInBytes($1) }
    }

    func swappableGeneration() throws -> Generation? { try snapshot().record.generation }

    func progress() throws -> (generation: Generation, unflushed: UInt64) {
        let now = try snapshot()
        return (now.record.generation, now.head - now.record.flushedThrough)
    }

    private func pages(_ stream: UInt32, _ now: Snapshot, limit: UInt64) -> StoredPages {
        StoredPages(
            environment: environment, tables: tables, generation: now.record.generation, stream: stream,
            limit: limit, isShared: true)
    }

    private func snapshot() throws -> Snapshot {
        try environment.read { transaction in
            guard let record = try StoreRecord.read(tables.meta, in: transaction) else {
                throw StoreFailure(code: .notFound, message: "\(directory) holds no store yet")
            }
            return Snapshot(record: record, head: try tables.log.head(in: transaction).seq)
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
        let isOutdated =
            tail.generation != now.record.generation || tail.end < now.record.flushedThrough
            || now.record.flushedThrough > tail.start + 1_000_000
        if isOutdated {
            tail = KnownTail()
            tail.generation = now.record.generation
            tail.start = now.record.flushedThrough
            tail.end = now.record.flushedThrough
            tail.firstNew = now.record.nextStream
        }
        guard tail.end < now.head else { return }
        var next = tail
        try tables.log.scanTail(
            after: tail.end, through: now.head, environment,
            isKnown: { $0 < tail.firstNew || next.known.contains($0) },
            { event in
                next.seqs[event.stream, default: []].append(event.seq)
                guard let user = event.user else { return }
                next.known.insert(event.stream)
                next.users[UserName(user, now.record.hasher)] = event.stream
            })
        next.end = now.head
        tail = next
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
        try tables.log.scanTail(after: seq, through: end, environment, isKnown: { _ in true }) { event in
            if event.stream == stream { seqs.append(event.seq) }
        }
        return seqs
    }

    func fact(_ seq: UInt64) throws -> Fact { try fact(seq, snapshot().record.hasher) }
}
