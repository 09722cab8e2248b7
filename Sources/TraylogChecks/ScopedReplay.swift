import TraylogDomain
import TraylogFold
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// A replay of some users, or up to a moment of the past, or of a stretch of the log.
struct ScopedReplay {
    private let source: FileSource
    private let scope: ReplayScope

    init(_ source: FileSource, _ scope: ReplayScope) {
        self.source = source
        self.scope = scope
    }

    func run(threads: Int?, _ progress: (UInt64, UInt64) throws -> Void) throws -> ReplayReport {
        for user in scope.users { try Limits.check(identifier: user, "user") }
        let threads = CurrentProcess.threads(threads)
        let (record, end, from, streams) = try source.readTail { try begin($0) }
        var fold = LogFold(rows: source.rows, tables: source.tables, record: record, head: end)
        fold.base = source.bases(record)
        if !scope.isPresent { fold.foldsTopicsThroughHead = true }
        guard let from else {
            if scope.users.isEmpty { return try replayAll(fold, threads, progress) }
            return try replay(streams, with: UserFold(source: source, fold: fold), progress)
        }
        let users = UserFold(source: source, fold: fold, from: from)
        return try replay(scope.users.isEmpty ? active(in: from...end) : streams, with: users, progress)
    }

    /// What is to be folded, from where on, and the streams of chosen users in the order of their numbers.
    private func begin(
        _ snapshot: FileSnapshot
    ) throws -> (record: StoreRecord, end: UInt64, from: UInt64?, streams: [UInt32]) {
        let end = try end(snapshot.store)
        let streams = try Set(scope.users.compactMap { try snapshot.stream(of: .user($0)) }).sorted()
        return (snapshot.store.record, end, try first(through: end, snapshot.store), streams)
    }

    /// The last event to fold.
    private func end(_ store: StoreSnapshot) throws -> UInt64 {
        guard let to = scope.to else { return try store.seq(of: scope.asOf) }
        guard scope.asOf == nil else { throw Refusal.invalid(field: "to", reason: "cannot be given beside asOf") }
        return try store.seq(of: .seq(to), "to")
    }

    /// The first event to fold; nil for all.
    private func first(through end: UInt64, _ store: StoreSnapshot) throws -> UInt64? {
        guard let from = scope.from, from > 1 else { return nil }
        guard from.rawValue <= end else { throw Refusal.invalid(field: "from", reason: "is after the last event") }
        // The state before it has to be known.
        _ = try store.seq(of: .seq(Seq(from.rawValue - 1)), "from")
        return from.rawValue
    }

    /// Streams with events in a stretch, in the order of their numbers.
    private func active(in seqs: ClosedRange<UInt64>) throws -> [UInt32] {
        var streams: Set<UInt32> = []
        try source.tables.log.scanTail(
            after: seqs.lowerBound - 1, through: seqs.upperBound, in: source.rows, wantsName: { _ in false }
        ) { events in
            for event in events where event.stream != 0 { streams.insert(event.stream) }
        }
        return streams.sorted()
    }

    /// Everything up to a moment of the past.
    private func replayAll(
        _ fold: LogFold, _ threads: Int, _ progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        var fold = fold
        fold.threads = threads
        var takers = (0..<threads).map { _ in AnswerCheck(source: source, end: fold.head) }
        try fold.run(into: &takers) { try progress($0, fold.head) }
        var report = ReplayReport()
        for check in takers {
            report.events += check.events
            report.users += check.users
        }
        let first = takers.compactMap(\.difference).min { $0.stream < $1.stream }
        report.differences = first.map { [$0.words] } ?? []
        return report
    }

    /// Some users, one by one; progress counts them.
    private func replay(
        _ streams: [UInt32], with users: UserFold, _ progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        var states = StateCheck(StreamCheck(source: source, head: users.fold.head), limit: 1)
        var answers = AnswerCheck(source: source, end: users.fold.head)
        var damage: StateCheck.Difference?
        for (index, stream) in streams.enumerated() {
            do {
                if scope.isPresent {
                    try users.run(stream, into: &states)
                } else {
                    try users.run(stream, into: &answers)
                }
            } catch PackedError.damaged(let what) where damage == nil {
                damage = .init(stream: stream, words: "stream \(stream): what is stored is damaged (\(what))")
            } catch PackedError.damaged {}
            try progress(UInt64(index + 1), UInt64(streams.count))
        }
        try states.finish()
        var report = ReplayReport(events: states.events + answers.events, users: states.users + answers.users)
        let found = [states.differences.first, answers.difference, damage].compactMap { $0 }
        report.differences = found.min { $0.stream < $1.stream }.map { [$0.words] } ?? []
        return report
    }
}
