@_spi(Replication) import TraylogDomain
import TraylogPlatform
import TraylogStates

extension PendingTransaction {
    /// The outcome for something that was due.
    private enum Outcome {
        case arrived(expiresAt: Timestamp?)
        case expired
        case woken
        case unmuted
        case reminded
        /// A deleted item wakes when it was restored.
        case waits
        /// The item is gone or the mute is over, or it is due at another time by now; or somebody would be reminded of what is
        /// read or does not count (see ``reviveReminders(after:of:by:store:)``).
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

    /// Brings, expires and wakes the items and ends the mutes of some entries whose time has come, one after the other, until time
    /// is up.
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
            case .arrived(let expiresAt):
                done.arrived += 1
                if let expiresAt, let next = done.left.first?.due, expiresAt < next { done.overtaken = entry }
            case .woken: done.woken += 1
            case .expired: done.expired += 1
            case .unmuted: done.unmuted += 1
            case .reminded: done.reminded += 1
            case .void: break
            case .waits:
                store.hasWaitingDues = true
                continue
            }
            settled.append(entry)
            if done.overtaken != nil { break }
        }
        return done
    }

    /// Brings an item, expires or wakes it, ends a mute or reminds, if it still is what the entry says.
    private mutating func settle(
        _ entry: DueEntry, store: inout LiveStore, random: inout RandomPool
    ) throws -> Outcome {
        guard let stream = try store.stream(entry.stream) else { return .void }
        let (state, stored) = try state(of: stream, store: &store)
        if entry.kind == .unmute {
            guard state.mutes.entries.contains(where: { $0.by == entry.item }),
                case .muted(let scope, entry.due) = try stored.event(entry.item).body
            else { return .void }
            try append(.unmuted(scope), to: stream, store: &store, random: &random)
            return .unmuted
        }
        guard let item = try state.entry(of: entry.item, stored: stored), !item.flags.contains(.gone) else {
            return .void
        }
        guard try !stored.hasLeft(entry.item) else { return .void }
        guard item.flags.contains(.scheduled) == (entry.kind == .arrival) else { return .void }
        let shown = try state.shown(item, stored: stored)
        switch entry.kind {
        case .arrival:
            var (origin, content) = try shown.content(from: stored)
            guard content.notBefore == entry.due else { return .void }
            content.notBefore = nil
            let topic: String? = if case .broadcast(let name, _) = origin.body { name } else { nil }
            try append(
                .arrived(
                    item: origin.seq, topic: topic, key: origin.key, notifiedAt: origin.recordedAt, content),
                to: stream, origin: origin, edits: content.actions.isEmpty ? 0 : shown.edits(from: stored),
                store: &store, random: &random)
            return .arrived(expiresAt: content.expiresAt)
        case .expiry:
            guard try shown.content(from: stored).content.expiresAt == entry.due else { return .void }
            try append(.expired(item: Seq(entry.item)), to: stream, store: &store, random: &random)
            return .expired
        case .wake, .unmute:
            guard try shown.snoozedUntil(from: stored) == entry.due else { return .void }
            guard !item.flags.contains(.deleted) else { return .waits }
            try append(.woken(item: Seq(entry.item)), to: stream, store: &store, random: &random)
            if state.hasReminders {
                try reviveReminders(after: .woken(item: Seq(entry.item)), of: stream, by: head, store: &store)
            }
            return .woken
        case .reminder:
            guard item.flags.contains(.reminding), try shown.content(from: stored).content.remindAt == entry.due,
                stream.isTopic || item.flags.isUnread
            else { return .void }
            try append(.reminded(item: Seq(entry.item)), to: stream, store: &store, random: &random)
            return .reminded
        }
    }
}

/// The effect of one transaction of a tick.
struct SettledDues: Sendable {
    /// Entries that were not looked at.
    var left: DueQueue
    /// An arrival whose item expires before the next entry that is left; these have to be read again.
    var overtaken: DueEntry?
    var arrived: UInt64 = 0
    var woken: UInt64 = 0
    var expired: UInt64 = 0
    var unmuted: UInt64 = 0
    var reminded: UInt64 = 0
}
