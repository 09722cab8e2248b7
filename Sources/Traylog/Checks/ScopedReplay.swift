import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogLog

/// A replay of some users, or up to a moment of the past, or of a stretch of the log.
struct ScopedReplay {
    private let source: FileSource
    private let scope: ReplayScope

    init(_ source: FileSource, _ scope: ReplayScope) {
        self.source = source
        self.scope = scope
    }

    func run(threads: Int?, _ progress: (UInt64, UInt64) throws -> Void) throws -> ReplayReport {
        while true {
            let basis = try source.basis()
            let report = Result { try runOnce(CurrentProcess.threads(threads), progress) }
            // Who replaces states meanwhile, takes away what was read.
            if try source.basis() == basis { return try report.get() }
        }
    }

    private func runOnce(
        _ threads: Int, _ progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        for user in scope.users { try Limits.check(identifier: user, "user") }
        let (record, head) = try source.state()
        let end = try end() ?? head
        var fold = LogFold(environment: source.environment, tables: source.tables, record: record, head: end)
        fold.base = source.bases(record)
        if !scope.isPresent { fold.foldsTopicsThroughHead = true }
        guard let from = try first(through: end) else {
            if scope.users.isEmpty { return try replayAll(fold, threads, progress) }
            return try replay(chosenStreams(), with: UserFold(source: source, fold: fold), progress)
        }
        let users = UserFold(source: source, fold: fold, from: from)
        let streams = scope.users.isEmpty ? try active(in: from...end) : try chosenStreams()
        return try replay(streams, with: users, progress)
    }

    /// The last event to fold; nil for the head.
    private func end() throws -> UInt64? {
        guard let to = scope.to else { return try source.seq(of: scope.asOf) }
        guard scope.asOf == nil else { throw Refusal.invalid(field: "to", reason: "cannot be given beside asOf") }
        return try source.seq(of: .seq(to))
    }

    /// The first event to fold; nil for all.
    private func first(through end: UInt64) throws -> UInt64? {
        guard let from = scope.from, from > 1 else { return nil }
        guard from.rawValue <= end else { throw Refusal.invalid(field: "from", reason: "is after the last event") }
        // The state before it has to be known.
        _ = try source.seq(of: .seq(Seq(from.rawValue - 1)))
        return from.rawValue
    }

    /// The chosen users who have a stream, in the order of their numbers.
    private func chosenStreams() throws -> [UInt32] {
        try Set(scope.users.compactMap { try source.stream(of: $0) }).sorted()
    }

    /// Streams with events in a stretch, in the order of their numbers.
    private func active(in seqs: ClosedRange<UInt64>) throws -> [UInt32] {
        var streams: Set<UInt32> = []
        try source.tables.log.scanTail(
            after: seqs.lowerBound - 1, through: seqs.upperBound, source.environment, wantsName: { _ in false }
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
