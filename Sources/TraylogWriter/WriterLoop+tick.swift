import TraylogDomain
import TraylogJSON
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

extension WriterLoop {
    /// Entries that a transaction takes care of at most, and more only of one item and time.
    private static let entriesPerTransaction = 128

    /// Takes a tick one transaction further.
    package mutating func tick(_ run: TickRun) throws -> TickRun {
        var run = run
        try recover()
        let now = run.time ?? now
        run.time = now
        // Commands note there when something becomes due meanwhile.
        if run.last == nil { setNextDue(nil) }
        do {
            let entries = try dueEntries(after: run.last, through: now)
            if entries.isEmpty { try finish(&run) } else { try settle(entries, &run) }
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

    private func dueEntries(after last: DueEntry?, through now: Timestamp) throws -> [DueEntry] {
        let (dues, limit) = (tables.dues, Self.entriesPerTransaction)
        let found = try environment.read { try dues.entries(after: last, through: now, limit: limit, in: $0) }
        return try sortedByUser(found)
    }

    /// Entries of one item and time in the order of their users' names.
    private func sortedByUser(_ entries: [DueEntry]) throws -> [DueEntry] {
        let isShared = zip(entries, entries.dropFirst()).contains { $0.hasItemAndTime(of: $1) }
        guard isShared else { return entries }
        let named = try memory.withLock { memory in
            try entries.map { (entry: $0, name: try memory.store.stream($0.stream)?.text ?? "") }
        }
        return named.sorted { left, right in
            let (a, b) = (left.entry, right.entry)
            guard a.hasItemAndTime(of: b) else { return (a.due, a.item) < (b.due, b.item) }
            guard a.kind == b.kind else { return a.kind.rawValue < b.kind.rawValue }
            return left.name.precedesInBytes(right.name)
        }
        .map(\.entry)
    }

    /// One transaction of a tick.
    private mutating func settle(_ entries: [DueEntry], _ run: inout TickRun) throws {
        let now = now
        let done = try memory.withLock { try $0.settle(entries, now: now) }
        try commit()
        run.report.woken += done.woken
        run.report.expired += done.expired
        // Not the last one: they stand by users' names.
        run.last = entries[..<done.count].max { $0.key.lexicographicallyPrecedes($1.key) }
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
