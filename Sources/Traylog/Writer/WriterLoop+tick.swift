import TraylogDomain
import TraylogPlatform
import TraylogLog

extension WriterLoop {
    /// Entries of what is due that one transaction takes care of, and more only of one item and time.
    private static let duesPerTransaction = 500

    /// Expires and wakes what is due at a time, in as many transactions as that takes.
    mutating func tick(_ now: Timestamp) throws -> TickReport {
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
        report.head = Seq(shared.withLock { $0.core.head.seq })
        try shared.withLock { shared in
            let dues = tables.dues(shared.core.generation)
            // What waits for an item to be restored would come up at once, and again and again; see
            // ``Group/publish(to:)``.
            let next = try environment.read { try dues.entries(after: last, through: .distantFuture, limit: 1, in: $0) }
            shared.core.nextDue = next.first?.due
        }
        return report
    }

    private func dueEntries(after last: DueEntry?, through now: Timestamp) throws -> [DueEntry] {
        let dues = tables.dues(shared.withLock { $0.core.generation })
        let found = try environment.read {
            try dues.entries(after: last, through: now, limit: WriterLoop.duesPerTransaction, in: $0)
        }
        return try sortedByUser(found)
    }

    /// Entries of one item and time in the order of their users' names; a broadcast can be snoozed by many.
    private func sortedByUser(_ entries: [DueEntry]) throws -> [DueEntry] {
        let isShared = zip(entries, entries.dropFirst()).contains { ($0.due, $0.item) == ($1.due, $1.item) }
        guard isShared else { return entries }
        let named = try shared.withLock { shared in
            try entries.map { (entry: $0, name: try shared.core.loadSlot($0.stream)?.user ?? "") }
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
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let (woken, expired) = try shared.withLock { shared in
            shared.group.begin(shared.core, now: now)
            shared.slice = try? shared.flusher.slice(besides: entries.count, core: &shared.core)
            do {
                return try shared.settle(entries)
            } catch {
                shared.rollBack()
                throw error
            }
        }
        try commit()
        report.woken += woken
        report.expired += expired
    }
}

extension Shared {
    fileprivate mutating func settle(_ entries: [DueEntry]) throws -> (woken: UInt64, expired: UInt64) {
        var (woken, expired): (UInt64, UInt64) = (0, 0)
        var settled: [DueEntry] = []
        for entry in entries {
            switch try group.settle(entry, core: &core, random: &random) {
            case .woken: woken += 1
            case .expired: expired += 1
            case .void: break
            case .waits:
                core.hasWaitingDues = true
                continue
            }
            settled.append(entry)
        }
        group.setSettled(settled)
        return (woken, expired)
    }
}

extension Timestamp {
    fileprivate static let distantFuture = Timestamp(milliseconds: .max)
}
