@_spi(Replication) import TraylogDomain
import TraylogPlatform
import TraylogStates

extension PendingTransaction {
    /// The outcome for something that was due.
    private enum Outcome {
        case expired
        case woken
        /// A deleted item wakes when it was restored.
        case waits
        /// The item is gone, or is due at another time by now.
        case void
    }

    /// How long one transaction of a tick may take to decide.
    ///
    /// The disk does not count: on a slow one, larger transactions are better for everybody.
    private static let nanosecondsPerTick: Int64 = 1_500_000
    /// Entries that one transaction of a tick takes care of, however long they take: what little is due happens at once.
    private static let fewestPerTick = 50
    /// Entries that one transaction of a tick takes care of at most.
    static let entriesPerTick = 128

    /// Expires and wakes the items of some entries whose time has come, one after the other, until time is up.
    mutating func settle(
        _ queue: DueQueue, store: inout LiveStore, random: inout RandomPool
    ) throws -> SettledDues {
        var done = SettledDues(left: queue)
        let end = SystemClock.monotonicNanoseconds() + Self.nanosecondsPerTick
        var count = 0
        while count < Self.entriesPerTick,
            count < Self.fewestPerTick || SystemClock.monotonicNanoseconds() < end,
            let entry = done.left.popFirst()
        {
            count += 1
            switch try settle(entry, store: &store, random: &random) {
            case .woken: done.woken += 1
            case .expired: done.expired += 1
            case .void: break
            case .waits:
                store.hasWaitingDues = true
                continue
            }
            settled.append(entry)
        }
        return done
    }

    /// Expires or wakes an item, if it still is what the entry says.
    private mutating func settle(
        _ entry: DueEntry, store: inout LiveStore, random: inout RandomPool
    ) throws -> Outcome {
        guard let stream = try store.stream(entry.stream) else { return .void }
        let (state, stored) = try state(of: stream, store: &store)
        guard let item = try state.entry(of: entry.item, stored: stored), !item.flags.contains(.gone) else {
            return .void
        }
        // What it showed left the log while it was deleted: nobody can restore it.
        guard try !stored.floor.isAbove(entry.item) || stored.holds(entry.item) else { return .void }
        let shown = try state.shown(item, stored: stored)
        switch entry.kind {
        case .expiry:
            guard try shown.content(from: stored).content.expiresAt == entry.due else { return .void }
            try append(.expired(item: Seq(entry.item)), to: stream, store: &store, random: &random)
            return .expired
        case .wake:
            guard try shown.snoozedUntil(from: stored) == entry.due else { return .void }
            guard !item.flags.contains(.deleted) else { return .waits }
            try append(.woken(item: Seq(entry.item)), to: stream, store: &store, random: &random)
            return .woken
        }
    }
}

/// The effect of one transaction of a tick.
struct SettledDues: Sendable {
    /// Entries that were not looked at.
    var left: DueQueue
    var woken: UInt64 = 0
    var expired: UInt64 = 0
}
