import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

/// Collects the rows that a rewrite must add for events appended meanwhile, beside the events themselves.
struct LateEvents {
    /// Times that the events set.
    private(set) var dues: [DueEntry] = []
    /// Items that were restored, by user.
    private var restored: [String: Set<UInt64>] = [:]
    /// Users with items that may be unread or back again, and the first event that did it.
    private var revived: [String: UInt64] = [:]

    mutating func note(_ event: Event, stream: StreamID) {
        let seq = event.seq.rawValue
        dues += DueEntry.all(event.body, seq: seq, stream: stream)
        guard let user = event.user else { return }
        switch event.body {
        case .marked(.restored, let items):
            restored[user, default: []].formUnion(items.map(\.rawValue))
        case .undone, .marked(.unread, _), .marked(.unarchived, _), .woken: break
        default: return
        }
        revived[user] = min(revived[user] ?? seq, seq)
    }

    /// Lets go of what a fold through the newest event has told.
    mutating func forgetDues() {
        dues = []
        revived = [:]
    }

    /// The events that restored items consist of, and lets go of the items.
    mutating func takeNeeded(_ source: FileSource, below floor: UInt64) throws -> Set<UInt64> {
        defer { restored = [:] }
        var needed: Set<UInt64> = []
        for (user, items) in restored {
            let old = items.filter { $0 < floor }
            guard !old.isEmpty else { continue }
            try source.read(.now, of: user) { now in
                for item in old {
                    guard let entry = try now.state.entry(of: item, stored: now.pages) else { continue }
                    needed.insert(item)
                    needed.formUnion(try now.state.shown(entry, stored: now.pages).overrides.map(\.event))
                }
            }
        }
        return needed
    }

    /// The times to store, and lets go of them.
    ///
    /// Some may not hold: that is for the tick to find.
    mutating func takeDues(_ source: FileSource) throws -> [DueEntry] {
        defer { forgetDues() }
        var all = dues
        for (user, seq) in revived {
            all += try source.read(.now, of: user) { try Self.dues(of: $0, changedSince: seq) }
        }
        return all
    }

    private static func dues(of now: UserSnapshot, changedSince seq: UInt64) throws -> [DueEntry] {
        var pages = now.state.pages.filter { $0.changedBy >= seq } + [now.state.tail]
        let inMemory = Set(now.state.pages.map(\.first))
        for first in try now.pages.firsts(of: .items, changedSince: seq) where !inMemory.contains(first) {
            if let page = try now.pages.items(at: first) { pages.append(page) }
        }
        var dues: [DueEntry] = []
        for entry in pages.flatMap(\.entries) where !entry.flags.contains(.gone) {
            func add(_ due: Timestamp?, _ kind: DueEntry.Kind) {
                guard let due else { return }
                dues.append(DueEntry(due: due, item: entry.seq, kind: kind, stream: now.stream))
            }
            let shown = try now.state.shown(entry, stored: now.pages)
            add(try shown.snoozedUntil(from: now.pages), .wake)
            // An earlier compaction may have removed the content of a deleted item.
            guard try !now.pages.hasLeft(entry.seq) else { continue }
            let (origin, content) = try shown.content(from: now.pages)
            // Those of a broadcast are its topic's, whatever anybody did with it.
            guard origin.user != nil else { continue }
            guard content.notBefore == nil else {
                add(content.notBefore, .arrival)
                continue
            }
            add(content.expiresAt, .expiry)
            if entry.flags.contains(.reminding), entry.flags.isUnread { add(content.remindAt, .reminder) }
        }
        return dues
    }
}
