import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

extension WriterLoop {
    /// Entries of what is due that one transaction takes care of, and more only of one item and time.
    private static let duesPerTransaction = 500

    /// Expires and wakes what is due at a time, the system's when nil, in as many transactions as that takes.
    package mutating func tick(_ time: Timestamp?) throws -> TickReport {
        let (now, start) = (time ?? now, SystemClock.monotonicNanoseconds())
        try recover()
        var report = TickReport()
        var last: DueEntry?
        while true {
            let entries = try dueEntries(after: last, through: now)
            // Not the last one: they stand by users' names.
            guard let end = entries.max(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { break }
            try settle(entries, &report)
            last = end
        }
        report.head = Seq(memory.withLock { $0.store.head.seq })
        let dues = tables.dues
        // What waits for an item to be restored would come up at once, and again and again; see
        // ``PendingTransaction/publish(to:wantsTouched:)``.
        let next = try environment.read { try dues.entries(after: last, through: .distantFuture, limit: 1, in: $0) }
        setNextDue(next.first?.due)
        observer?.observe(
            .ticked(
                woken: report.woken, expired: report.expired,
                duration: .nanoseconds(SystemClock.monotonicNanoseconds() - start)))
        return report
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
        let dues = tables.dues
        let found = try environment.read {
            try dues.entries(after: last, through: now, limit: WriterLoop.duesPerTransaction, in: $0)
        }
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
    private mutating func settle(_ entries: [DueEntry], _ report: inout TickReport) throws {
        let now = now
        let (woken, expired) = try memory.withLock { try $0.settle(entries, now: now) }
        try commit()
        report.woken += woken
        report.expired += expired
    }
}

extension Timestamp {
    fileprivate static let distantFuture = Timestamp(milliseconds: .max)
}

/// The effect of a tick.
public struct TickReport: Hashable, Sendable {
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
