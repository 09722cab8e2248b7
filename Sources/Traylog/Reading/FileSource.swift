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
        let now = try snapshot()
        let (newStream, _) = try known(now, stream: nil, user: user)
        let states = tables.states(now.record.generation)
        let names = tables.names(now.record.generation)
        let found = try environment.read { transaction -> (stream: UInt32, state: TrayState)? in
            guard let stream = try newStream ?? names.stream(of: user, in: transaction) else { return nil }
            return (stream, try states.root(stream, in: transaction)?.state ?? TrayState())
        }
        var (stream, state) = found ?? (0, TrayState())
        let pages = pages(stream, now, limit: state.appliedSeq)
        if found != nil {
            let (_, seqs) = try known(now, stream: stream, user: user)
            for seq in seqs where seq > state.appliedSeq && seq <= now.head {
                let fact = try environment.read {
                    try tables.log.fact(seq, hasher: now.record.hasher, in: $0)
                }
                guard let fact else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
                try state.apply(fact, stored: pages)
            }
        }
        return UserView(
            user: user, head: Seq(max(now.head, state.appliedSeq)), state: state, hasher: now.record.hasher,
            pages: pages)
    }

    func head() throws -> Seq { Seq(try snapshot().head) }

    func unnamedUsers(after name: String?) throws -> [String] {
        let now = try snapshot()
        _ = try known(now, stream: nil, user: "")
        return tail.withLock { $0.users.keys.map(\.text) }
            .filter { user in name.map { $0.precedesInBytes(user) } ?? true }
            .sorted { $0.precedesInBytes($1) }
    }

    func progress() throws -> (generation: Generation, unflushed: UInt64) {
        let now = try snapshot()
        return (now.record.generation, now.head - now.record.flushedThrough)
    }

    private func pages(_ stream: UInt32, _ now: Snapshot, limit: UInt64) -> StoredPages {
        StoredPages(
            environment: environment, tables: tables, generation: now.record.generation, stream: stream,
            limit: limit)
    }

    private func snapshot() throws -> Snapshot {
        try environment.read { transaction in
            guard let record = try StoreRecord.read(tables.meta, in: transaction) else {
                throw StoreFailure(code: .notFound, message: "\(directory) holds no store yet")
            }
            return Snapshot(record: record, head: try tables.log.head(in: transaction).seq)
        }
    }

    /// What the tail says of a new user's stream, and of a stream's events.
    private func known(
        _ now: Snapshot, stream: UInt32?, user: String
    ) throws -> (stream: UInt32?, seqs: [UInt64]) {
        try tail.withLock { tail in
            try extend(&tail, to: now)
            return (tail.users[UserName(user, now.record.hasher)], stream.flatMap { tail.seqs[$0] } ?? [])
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
