import TraylogDomain
import TraylogQueries
import TraylogStates

/// Compares all items of a tray at one moment with those at a later one.
struct ItemComparison {
    private struct Known {
        var standing: ItemStanding
        var overrides: [ItemOverride]
    }

    private let new: UserSnapshot
    private var before: [UInt64: Known] = [:]

    init(_ old: UserSnapshot, _ new: UserSnapshot) throws {
        self.new = new
        var before: [UInt64: Known] = [:]
        try old.state.forEachItem(below: .max, stored: old.pages) { page, entry in
            before[entry.seq] = Known(
                standing: ItemStanding(entry, isSeen: old.state.isSeen(entry)),
                overrides: Array(page.overrides(of: entry.seq)))
            return true
        }
        self.before = before
    }

    /// The items that differ, ascending, still without the events that changed them.
    func changes() throws -> [ItemChange] {
        var changes: [ItemChange] = []
        try new.state.forEachItem(below: .max, stored: new.pages) { page, entry in
            let isSeen = new.state.isSeen(entry)
            let after = ItemStanding(entry, isSeen: isSeen)
            let overrides = Array(page.overrides(of: entry.seq))
            let known = before[entry.seq]
            guard known?.standing != after || known?.overrides != overrides else { return true }
            // Marks on what is gone say nothing.
            guard known?.standing.isGone != true else { return true }
            let wasListed = known?.standing.isListed ?? false
            let shown = ShownItem(entry: entry, isSeen: isSeen, overrides: overrides)
            changes.append(
                ItemChange(
                    item: Seq(entry.seq),
                    kind: wasListed == after.isListed ? .changed : wasListed ? .disappeared : .appeared,
                    before: known?.standing, after: after,
                    isEdited: Self.edits(known?.overrides ?? []) != Self.edits(overrides),
                    content: try shown.content(from: new.pages).content, by: []))
            return true
        }
        return changes.sorted { $0.item < $1.item }
    }

    private static func edits(_ overrides: [ItemOverride]) -> [ItemOverride] {
        overrides.filter { $0.field != .snoozedUntil }
    }
}

/// Finds the events that changed certain items, as a fold goes on.
struct ChangeTracker {
    private struct Tracked {
        var standing: ItemStanding?
        var by: [Seq] = []
    }

    private let pages: StoredPages
    private var items: [UInt64: Tracked] = [:]

    /// - Parameters:
    ///   - items: the items, and how they were before the first event.
    ///   - pages: those of the tray at that moment.
    init(_ items: [(item: Seq, before: ItemStanding?)], pages: StoredPages) {
        self.pages = pages
        for (item, before) in items { self.items[item.rawValue] = Tracked(standing: before) }
    }

    func events(of item: Seq) -> [Seq] { items[item.rawValue]?.by ?? [] }

    /// Notes the items that an event changed, given the state after it.
    mutating func follow(_ state: borrowing TrayState, _ fact: Fact) throws {
        guard !items.isEmpty else { return }
        switch fact.kind {
        case .marked:
            for item in fact.items { try look(at: item, in: state, after: fact) }
        case .edited, .retracted, .expired, .snoozed, .woken:
            try look(at: fact.target, in: state, after: fact)
        case .notified where fact.collapse == 0, .broadcast:
            try look(at: fact.seq, in: state, after: fact)
        case .notified, .traySeen, .allMarked, .undone:
            try lookAtAll(state, after: fact)
        case .muted, .unmuted, .subscribed, .unsubscribed, .erased, .compacted:
            break
        }
    }

    private mutating func look(at item: UInt64, in state: borrowing TrayState, after fact: Fact) throws {
        guard items[item] != nil, let entry = try state.entry(of: item, stored: pages) else { return }
        note(entry, isSeen: state.isSeen(entry), after: fact)
    }

    private mutating func lookAtAll(_ state: borrowing TrayState, after fact: Fact) throws {
        // A few are found sooner one by one.
        guard items.count > 16 else {
            for item in items.keys { try look(at: item, in: state, after: fact) }
            return
        }
        var found: [(ItemEntry, Bool)] = []
        let state = copy state
        try state.forEachItem(below: .max, stored: pages) { _, entry in
            if items[entry.seq] != nil { found.append((entry, state.isSeen(entry))) }
            return true
        }
        for (entry, isSeen) in found { note(entry, isSeen: isSeen, after: fact) }
    }

    private mutating func note(_ entry: ItemEntry, isSeen: Bool, after fact: Fact) {
        guard let tracked = items[entry.seq], tracked.standing?.isGone != true else { return }
        let standing = ItemStanding(entry, isSeen: isSeen)
        // An edit, and a new time to wake, leave the standing unchanged.
        guard tracked.standing != standing || fact.kind == .edited || fact.kind == .snoozed else { return }
        items[entry.seq]?.standing = standing
        items[entry.seq]?.by.append(Seq(fact.seq))
    }
}
