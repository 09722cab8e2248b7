import TraylogDomain

/// Finds, event by event, which of them changed the items that are of interest.
struct ChangeTracker {
    private struct Tracked {
        var standing: ItemStanding?
        var by: [Seq] = []
    }

    private let pages: StoredPages
    private var items: [UInt64: Tracked] = [:]

    /// - Parameter base: the tray before the first event.
    init(_ changes: [ItemChange], base: UserView) {
        pages = base.pages
        for change in changes { items[change.item.rawValue] = Tracked(standing: change.before) }
    }

    func events(of item: Seq) -> [Seq] { items[item.rawValue]?.by ?? [] }

    /// Looks at what an event has left.
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
        var found: [(ItemEntry, Bool)] = []
        let state = copy state
        try state.forEachItem(below: .max, stored: pages) { _, entry in
            if items[entry.seq] != nil { found.append((entry, state.isSeen(entry))) }
            return true
        }
        for (entry, isSeen) in found { note(entry, isSeen: isSeen, after: fact) }
    }

    private mutating func note(_ entry: ItemEntry, isSeen: Bool, after fact: Fact) {
        guard let tracked = items[entry.seq] else { return }
        let standing = ItemStanding(entry, isSeen: isSeen)
        // An edit, and another time to wake, change nothing of how the item stands.
        guard tracked.standing != standing || fact.kind == .edited || fact.kind == .snoozed else { return }
        items[entry.seq]?.standing = standing
        items[entry.seq]?.by.append(Seq(fact.seq))
    }
}
