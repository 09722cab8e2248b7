import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

extension WriterLoop {
    /// How long one transaction of a tick may hold the lock.
    ///
    /// The disk does not count: on a slow one, larger transactions are better for everybody.
    private static let nanosecondsPerTransaction: Int64 = 1_500_000

    /// Takes a tick one transaction further.
    package mutating func tick(_ run: TickRun) throws -> TickRun {
        var run = run
        try recover()
        let now = run.time ?? now
        run.time = now
        // Commands note there when something becomes due meanwhile.
        if run.last == nil { setNextDue(nil) }
        do {
            let entries = try dueEntries(after: run.last, through: now, limit: run.limit)
            // Not the last one: they stand by users' names.
            guard let end = entries.max(by: { $0.key.lexicographicallyPrecedes($1.key) }) else {
                try finish(&run)
                return run
            }
            try settle(entries, &run)
            run.last = end
            return run
        } catch {
            setNextDue(now)
            throw error
        }
    }

    private mutating func finish(_ run: inout TickRun) throws {
        run.isDone = true
        run.report.head = Seq(memory.withLock { $0.store.head.seq })
        let (dues, last) = (tables.dues, run.last)
        // What waits for an item to be restored would come up at once, and again and again; see
        // ``PendingTransaction/publish(to:wantsTouched:)``.
        let next = try environment.read { try dues.entries(after: last, through: .distantFuture, limit: 1, in: $0) }
        setNextDue([next.first?.due, nextDue].compactMap(\.self).min())
        observer?.observe(
            .ticked(
                woken: run.report.woken, expired: run.report.expired,
                duration: .nanoseconds(SystemClock.monotonicNanoseconds() - run.start)))
    }

    /// Appends an event of an operator to a user's stream.
    package mutating func append(
        _ body: Event.Body, of user: String, actor: String?, device: String?
    ) throws -> Seq {
        try recover()
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let seq = try memory.withLock { try $0.append(body, of: user, actor: actor, device: device, now: now) }
        try commit()
        return seq
    }

    private func dueEntries(after last: DueEntry?, through now: Timestamp, limit: Int) throws -> [DueEntry] {
        let dues = tables.dues
        let found = try environment.read { try dues.entries(after: last, through: now, limit: limit, in: $0) }
        return try sortedByUser(found)
    }

    /// Entries of one item and time in the order of their users' names; a broadcast can be snoozed by many.
    private func sortedByUser(_ entries: [DueEntry]) throws -> [DueEntry] {
        let isShared = zip(entries, entries.dropFirst()).contains { ($0.due, $0.item) == ($1.due, $1.item) }
        guard isShared else { return entries }
        let named = try memory.withLock { memory in
            try entries.map { (entry: $0, name: try memory.store.stream($0.stream)?.text ?? "") }
        }
        return named.sorted { left, right in
            let (a, b) = (left.entry, right.entry)
            guard (a.due, a.item) == (b.due, b.item) else { return (a.due, a.item) < (b.due, b.item) }
            guard a.kind == b.kind else { return a.kind.rawValue < b.kind.rawValue }
            return left.name.precedesInBytes(right.name)
        }
        .map(\.entry)
    }

    /// One transaction of a tick.
    private mutating func settle(_ entries: [DueEntry], _ run: inout TickRun) throws {
        let now = now
        let start = SystemClock.monotonicNanoseconds()
        let (woken, expired) = try memory.withLock { try $0.settle(entries, now: now) }
        run.noteTransaction(took: SystemClock.monotonicNanoseconds() - start, of: Self.nanosecondsPerTransaction)
        try commit()
        run.report.woken += woken
        run.report.expired += expired
    }
}

extension Timestamp {
    fileprivate static let distantFuture = Timestamp(milliseconds: .max)
}

/// A tick on its way: it takes turns with appends, a transaction each, so that nobody waits for all that is due.
package struct TickRun: Sendable {
    /// Items that are due by then expire and wake; the present when nil.
    fileprivate var time: Timestamp?
    fileprivate let start = SystemClock.monotonicNanoseconds()
    /// The last entry that was looked at.
    fileprivate var last: DueEntry?
    package fileprivate(set) var report = TickReport()
    package fileprivate(set) var isDone = false
    /// Entries that the next transaction takes care of, and more only of one item and time.
    private(set) var limit = Self.largestLimit

    private static let smallestLimit = 50
    private static let largestLimit = 500

    /// As many entries as would have taken `nanoseconds`, as the last ones went.
    fileprivate mutating func noteTransaction(took elapsed: Int64, of nanoseconds: Int64) {
        let fitting = Int64(limit) * nanoseconds / max(elapsed, 1)
        limit = min(max(Int(clamping: fitting), Self.smallestLimit), Self.largestLimit)
    }

    package init(_ time: Timestamp?) { self.time = time }
}

/// The effect of a tick.
public struct TickReport: Hashable, Sendable, Decodable {
    /// Items that came back from a snooze.
    public var woken: UInt64 = 0
    /// Items, and broadcasts for everyone, that expired.
    public var expired: UInt64 = 0
    /// The newest event afterwards.
    public var head: Seq = .zero

    /// Makes one of its parts.
    public init(woken: UInt64 = 0, expired: UInt64 = 0, head: Seq = .zero) {
        self.woken = woken
        self.expired = expired
        self.head = head
    }
}
