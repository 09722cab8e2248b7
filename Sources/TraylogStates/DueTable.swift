import TraylogDomain
import TraylogLMDB
import TraylogLog

/// A time that an event set: when an item arrives, expires or wakes, when a mute ends, or when somebody is to be reminded.
package struct DueEntry: Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case expiry = 0
        case wake = 1
        case unmute = 2
        case reminder = 3
        case arrival = 4
    }

    /// The part of the table in which it stands.
    ///
    /// A tick goes through arrivals and changes together, in the order of their times, arrivals first at equal ones; reminders
    /// come after all that changes items.
    package enum Phase: UInt8, Sendable, CaseIterable {
        case changes = 0
        case reminders = 1
        case arrivals = 2
    }

    package var due: Timestamp
    /// The item; of a mute, the `muted` that set its end.
    package var item: UInt64
    package var kind: Kind
    /// The user's, or for the expiry or reminder of a broadcast the topic's.
    package var stream: StreamID

    package init(due: Timestamp, item: UInt64, kind: Kind, stream: StreamID) {
        self.due = due
        self.item = item
        self.kind = kind
        self.stream = stream
    }
}

extension DueEntry {
    /// All the times that an event sets; none for most.
    package static func all(_ body: borrowing Event.Body, seq: UInt64, stream: StreamID) -> [DueEntry] {
        let entries = [
            DueEntry(body, seq: seq, stream: stream), DueEntry(reminding: body, seq: seq, stream: stream),
            DueEntry(arriving: body, seq: seq, stream: stream),
        ]
        return entries.compactMap(\.self)
    }

    /// The due time that an event sets, but for those of an arrival and a reminder; nil for most.
    private init?(_ body: borrowing Event.Body, seq: UInt64, stream: StreamID) {
        switch copy body {
        case .notified(let content), .broadcast(_, let content):
            // What is scheduled expires and reminds once it has arrived.
            guard let due = content.expiresAt, content.notBefore == nil else { return nil }
            self.init(due: due, item: seq, kind: .expiry, stream: stream)
        case .arrived(let item, _, _, _, let content):
            guard let due = content.expiresAt else { return nil }
            self.init(due: due, item: item.rawValue, kind: .expiry, stream: stream)
        case .edited(let item, let edit):
            guard case .set(let due) = edit.expiresAt else { return nil }
            self.init(due: due, item: item.rawValue, kind: .expiry, stream: stream)
        case .snoozed(let item, let until):
            self.init(due: until, item: item.rawValue, kind: .wake, stream: stream)
        case .muted(_, let until?):
            self.init(due: until, item: seq, kind: .unmute, stream: stream)
        default:
            return nil
        }
    }

    /// The arrival that an event schedules; nil for most.
    private init?(arriving body: borrowing Event.Body, seq: UInt64, stream: StreamID) {
        switch copy body {
        case .notified(let content), .broadcast(_, let content):
            guard let due = content.notBefore else { return nil }
            self.init(due: due, item: seq, kind: .arrival, stream: stream)
        case .edited(let item, let edit):
            guard case .set(let due) = edit.notBefore else { return nil }
            self.init(due: due, item: item.rawValue, kind: .arrival, stream: stream)
        default:
            return nil
        }
    }

    /// The reminder that an event asks for; nil for most.
    private init?(reminding body: borrowing Event.Body, seq: UInt64, stream: StreamID) {
        switch copy body {
        case .notified(let content), .broadcast(_, let content):
            guard let due = content.remindAt, content.notBefore == nil else { return nil }
            self.init(due: due, item: seq, kind: .reminder, stream: stream)
        case .arrived(let item, _, _, _, let content):
            guard let due = content.remindAt else { return nil }
            self.init(due: due, item: item.rawValue, kind: .reminder, stream: stream)
        case .edited(let item, let edit):
            guard case .set(let due) = edit.remindAt else { return nil }
            self.init(due: due, item: item.rawValue, kind: .reminder, stream: stream)
        default:
            return nil
        }
    }

    /// The same of an event as the fold knows it, which is to be reminded of at `due`.
    package init(reminding fact: borrowing Fact, due: Timestamp, stream: StreamID) {
        self.init(due: due, item: fact.isOfItself ? fact.seq : fact.target, kind: .reminder, stream: stream)
    }

    /// The same of an event as the fold knows it, which schedules the arrival.
    package init(arriving fact: borrowing Fact, due: Timestamp, stream: StreamID) {
        self.init(due: due, item: fact.isOfItself ? fact.seq : fact.target, kind: .arrival, stream: stream)
    }

    /// The same of an event as the fold knows it, which sets the time `due`.
    package init?(_ fact: borrowing Fact, due: Timestamp, stream: StreamID) {
        switch fact.kind {
        case .notified, .broadcast: self.init(due: due, item: fact.seq, kind: .expiry, stream: stream)
        case .edited, .arrived: self.init(due: due, item: fact.target, kind: .expiry, stream: stream)
        case .snoozed: self.init(due: due, item: fact.target, kind: .wake, stream: stream)
        case .muted: self.init(due: due, item: fact.seq, kind: .unmute, stream: stream)
        default: return nil
        }
    }

    /// Whether one item is due at one time in both; a broadcast can be snoozed by many.
    package func hasItemAndTime(of other: DueEntry) -> Bool { (due, rank) == (other.due, other.rank) }

    /// Its place among what is due at one time: items come before mutes.
    package var rank: UInt64 { kind == .unmute ? item | Self.muteBit : item }

    private static let muteBit: UInt64 = 1 << 63

    package var phase: Phase {
        switch kind {
        case .expiry, .wake, .unmute: .changes
        case .reminder: .reminders
        case .arrival: .arrivals
        }
    }

    static let keyBytes = 22

    /// `phase u8 | due i64 BE, sign flipped | rank u64 BE | kind u8 | stream u32 BE`: in the order in which a tick goes.
    package var key: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(DueEntry.keyBytes)
        bytes.append(phase.rawValue)
        let sortable = UInt64(bitPattern: due.milliseconds) ^ (1 << 63)
        for number in [sortable, rank] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        bytes.append(kind.rawValue)
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: stream.rawValue >> shift))
        }
        return bytes
    }

    package init(key: RawSpan) throws(PackedError) {
        guard key.byteCount == DueEntry.keyBytes, let kind = Kind(rawValue: key.byte(at: 17)) else {
            throw .damaged("an entry of what is due")
        }
        let sortable = key.littleEndian(at: 1, as: UInt64.self).byteSwapped
        let rank = key.littleEndian(at: 9, as: UInt64.self).byteSwapped
        guard (rank & Self.muteBit != 0) == (kind == .unmute) else { throw .damaged("an entry of what is due") }
        self.init(
            due: Timestamp(milliseconds: Int64(bitPattern: sortable ^ (1 << 63))), item: rank & ~Self.muteBit,
            kind: kind,
            stream: StreamID(rawValue: key.littleEndian(at: 18, as: UInt32.self).byteSwapped))
        guard key.byte(at: 0) == phase.rawValue else { throw .damaged("an entry of what is due") }
    }
}

extension Fact {
    /// Whether it brings the item of which it sets a time.
    fileprivate var isOfItself: Bool { kind == .notified || kind == .broadcast }
}

extension TrayState {
    /// Whether a time that the event `seq` set still holds: the item is not gone, the mute not over, and no later event set
    /// another.
    ///
    /// A reminder of what is read or not counted does not: it comes back with the event that changes that.
    ///
    /// - Parameter isTopic: whether this is the state of a topic.
    package func holds(
        _ entry: DueEntry, setBy seq: UInt64, isTopic: Bool, stored: some StatePages
    ) throws -> Bool {
        if entry.kind == .unmute { return mutes.entries.contains { $0.by == entry.item } }
        guard let item = try self.entry(of: entry.item, stored: stored), !item.flags.contains(.gone) else {
            return false
        }
        let shown = try shown(item, stored: stored)
        func sets(_ field: ContentFields) -> Bool {
            seq == shown.overrides.first { $0.field == field }?.event ?? shown.base
        }
        guard item.flags.contains(.scheduled) == (entry.kind == .arrival) else { return false }
        switch entry.kind {
        case .arrival: return sets(.notBefore)
        case .expiry: return sets(.expiresAt)
        case .wake, .unmute: return shown.overrides.first { $0.field == .snoozedUntil }?.event == seq
        case .reminder:
            guard item.flags.contains(.reminding), isTopic || item.flags.isUnread else { return false }
            return sets(.remindAt)
        }
    }
}

/// Due times: one row for each that an event set, until a tick has dealt with it.
///
/// A row says that something may be due, the item's state whether it still is: a retracted item or another `until`
/// leaves its row to the tick that meets it.
package struct DueTable: Sendable {
    package let database: Database

    /// Adds entries, each once.
    package func add(_ entries: [DueEntry], to transaction: inout WriteTransaction) throws(LMDBError) {
        // In order, because neighbours share pages.
        for key in entries.map(\.key).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            var value: [UInt8] = []
            Checked.seal(&value, key: RawSpan(_elements: key.span))
            try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
        }
    }

    package func remove(_ entries: [DueEntry], from transaction: inout WriteTransaction) throws(LMDBError) {
        for entry in entries {
            let key = entry.key
            _ = try transaction.delete(database, RawSpan(_elements: key.span))
        }
    }

    /// Entries of a phase after `last` with times up to `time`, in order; at most `limit`.
    package func entries(
        of phase: DueEntry.Phase, after last: DueEntry?, through time: Timestamp, limit: Int,
        in transaction: borrowing ReadTransaction
    ) throws -> [DueEntry] {
        let start = last?.key ?? [phase.rawValue]
        return try transaction.withCursor(database) { cursor in
            var entries: [DueEntry] = []
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found, entries.count < limit {
                let entry = try cursor.withEntry { key, value in
                    _ = try Checked.open(value, key: key)
                    return try DueEntry(key: key)
                }
                guard entry.phase == phase, entry.due <= time else { break }
                if entry != last { entries.append(entry) }
                found = try cursor.next()
            }
            return entries
        }
    }

    /// When the next entry is due; nil when nothing is.
    package func first(in transaction: borrowing ReadTransaction) throws -> Timestamp? {
        var first: Timestamp?
        for phase in DueEntry.Phase.allCases {
            let next = try entries(of: phase, after: nil, through: .distantFuture, limit: 1, in: transaction)
            if let due = next.first?.due { first = min(first ?? due, due) }
        }
        return first
    }

    package func contains(_ entry: DueEntry, in transaction: borrowing ReadTransaction) throws -> Bool {
        let key = entry.key
        let found: Void? = try transaction.get(database, RawSpan(_elements: key.span)) { _ in }
        return found != nil
    }
}

extension Timestamp {
    package static let distantFuture = Timestamp(milliseconds: .max)
}
