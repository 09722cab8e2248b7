import TraylogDomain
import TraylogStates

/// Compares all items of a tray at one moment with those at a later one.
package struct ItemComparison {
    private struct Known {
        var standing: ItemStanding
        var overrides: [ItemOverride]
    }

    /// The items of pages that are not the same at both moments.
    private var before: [UInt64: Known] = [:]
    private var after: [(page: ItemPage, entry: ItemEntry)] = []
    private let new: UserSnapshot

    /// - Complexity: O(pages of items); only those that differ are looked into.
    package init(_ old: UserSnapshot, _ new: UserSnapshot) throws {
        self.new = new
        var (oldPage, newPage) = (try old.page(below: .max), try new.page(below: .max))
        while oldPage != nil || newPage != nil {
            let (oldFirst, newFirst) = (oldPage?.first, newPage?.first)
            if let oldPage, newPage?.first != oldPage.first || !Self.isSame(oldPage, old.state, newPage, new.state) {
                if oldPage.first >= newFirst ?? 0 { note(oldPage, old.state) }
            }
            if let newPage, oldPage?.first != newPage.first || !Self.isSame(oldPage, old.state, newPage, new.state) {
                if newPage.first >= oldFirst ?? 0 { after += newPage.arrived.map { (newPage, $0) } }
            }
            if let first = oldFirst, first >= newFirst ?? 0 { oldPage = try old.page(below: first) }
            if let first = newFirst, first >= oldFirst ?? 0 { newPage = try new.page(below: first) }
        }
    }

    private mutating func note(_ page: ItemPage, _ state: TrayState) {
        for entry in page.arrived {
            before[entry.seq] = Known(
                standing: ItemStanding(entry, isSeen: state.isSeen(entry)),
                overrides: Array(page.overrides(of: entry.seq)))
        }
    }

    /// Whether all items of a page stand as they did.
    private static func isSame(_ old: ItemPage?, _ oldState: TrayState, _ new: ItemPage?, _ newState: TrayState) -> Bool
    {
        guard let old, let new, old.entries == new.entries, old.overrides == new.overrides else { return false }
        // An undo moves the mark back.
        let seenInBoth = min(oldState.seenMark, newState.seenMark)
        return oldState.seenMark == newState.seenMark || old.entries.last?.position ?? 0 <= seenInBoth
    }

    /// The items that differ, ascending, still without the events that changed them; each as it is after them.
    ///
    /// - Parameter limit: only the newest of them; nil for all. The content of the others is not read.
    package func changes(limit: Int? = nil) throws -> [(change: ItemChange, entry: ItemEntry)] {
        var differing = after.filter { differs($0.entry, in: $0.page) }
        differing.sort { $0.entry.seq < $1.entry.seq }
        return try differing.suffix(limit ?? differing.count).map { page, entry in
            let (isSeen, known) = (new.state.isSeen(entry), before[entry.seq])
            let standing = ItemStanding(entry, isSeen: isSeen)
            let overrides = Array(page.overrides(of: entry.seq))
            let wasListed = known?.standing.isListed ?? false
            let shown = ShownItem(entry: entry, isSeen: isSeen, overrides: overrides)
            let change = ItemChange(
                item: Seq(entry.seq),
                kind: wasListed == standing.isListed ? .changed : wasListed ? .disappeared : .appeared,
                before: known?.standing, after: standing,
                isEdited: Self.edits(known?.overrides ?? []) != Self.edits(overrides),
                content: try new.pages.hasLeft(entry.seq) ? Content() : shown.content(from: new.pages).content, by: [])
            return (change, entry)
        }
    }

    /// The items that stand differently, ascending; without those of which only the content was edited.
    package func standings() -> [(before: ItemStanding?, after: ItemStanding, shown: ShownItem)] {
        var found: [(before: ItemStanding?, after: ItemStanding, shown: ShownItem)] = []
        for (page, entry) in after {
            let isSeen = new.state.isSeen(entry)
            let (known, standing) = (before[entry.seq], ItemStanding(entry, isSeen: isSeen))
            guard known?.standing != standing else { continue }
            let overrides = Array(page.overrides(of: entry.seq))
            found.append((known?.standing, standing, ShownItem(entry: entry, isSeen: isSeen, overrides: overrides)))
        }
        return found.sorted { $0.shown.entry.seq < $1.shown.entry.seq }
    }

    private func differs(_ entry: ItemEntry, in page: ItemPage) -> Bool {
        guard let known = before[entry.seq] else { return true }
        let standing = ItemStanding(entry, isSeen: new.state.isSeen(entry))
        guard known.standing != standing || !page.overrides(of: entry.seq).elementsEqual(known.overrides) else {
            return false
        }
        // What is gone keeps its marks; only an undo changes them, and says nothing about it.
        return !known.standing.isGone || !standing.isGone
    }

    private static func edits(_ overrides: [ItemOverride]) -> [ItemOverride] {
        overrides.filter { $0.field != .snoozedUntil }
    }
}

/// Finds the events that changed certain items, as a fold goes on.
package struct ChangeTracker<Pages: StatePages> {
    private struct Tracked {
        let thread: Identity
        let category: Identity
        var standing: ItemStanding?
        var by: [Seq] = []
    }

    private let pages: Pages
    private var items: [UInt64: Tracked] = [:]
    /// The items that a bulk mark may still change, by thread, so that no mark looks at the others.
    private var unseen: [Identity: Set<UInt64>] = [:]
    private var unread: [Identity: Set<UInt64>] = [:]
    private var inInbox: [Identity: Set<UInt64>] = [:]

    /// - Parameters:
    ///   - items: the items, and how they were before the first event.
    ///   - pages: the tray's at that moment.
    package init(_ items: [(entry: ItemEntry, before: ItemStanding?)], pages: Pages) {
        self.pages = pages
        for (entry, before) in items {
            self.items[entry.seq] = Tracked(thread: entry.thread, category: entry.category, standing: before)
            if let before { file(entry.seq, thread: entry.thread, before) }
        }
    }

    package func events(of item: Seq) -> [Seq] { items[item.rawValue]?.by ?? [] }

    /// Notes the items that an event changed, given the state after it.
    package mutating func follow(_ state: borrowing TrayState, _ fact: Fact) throws {
        guard !items.isEmpty else { return }
        switch fact.kind {
        case .marked:
            for item in fact.items { try look(at: item, in: state, after: fact) }
        case .edited, .retracted, .expired, .snoozed, .woken, .acted:
            try look(at: fact.target, in: state, after: fact)
        case .notified where fact.collapse == .absent, .broadcast:
            try look(at: fact.seq, in: state, after: fact)
        case .arrived where fact.collapse == .absent:
            try look(at: fact.target, in: state, after: fact)
        case .notified, .arrived:
            // It may have superseded others: they are in the newest items, or in pages that it changed.
            for page in [state.tail] + state.pages.filter({ $0.changedBy == fact.seq }) {
                for entry in page.entries { note(entry, isSeen: state.isSeen(entry), after: fact) }
            }
        case .undone:
            for item in items.keys { try look(at: item, in: state, after: fact) }
        case .traySeen:
            for item in unseen.values.flatMap(\.self) { try look(at: item, in: state, after: fact) }
        case .allMarked:
            guard let mark = RangeMark(fact) else { return }
            for item in candidates(mark) {
                guard let tracked = items[item], mark.matches(thread: tracked.thread, category: tracked.category) else {
                    continue
                }
                try look(at: item, in: state, after: fact)
            }
        case .muted, .unmuted, .subscribed, .unsubscribed, .erased, .compacted, .held, .released, .lost, .reminded,
            .audited:
            break
        }
    }

    /// The items that a bulk mark may change, and perhaps others.
    private func candidates(_ mark: RangeMark) -> [UInt64] {
        let filed =
            switch mark.mark {
            case .seen: unseen
            case .read: unread
            case .archived, .deleted: inInbox
            }
        let threads = mark.thread != .absent ? [mark.thread] : mark.onlyUnthreaded ? [.absent] : Array(filed.keys)
        return threads.flatMap { filed[$0] ?? [] }
    }

    private mutating func file(_ item: UInt64, thread: Identity, _ standing: ItemStanding) {
        func note(_ isIn: Bool, _ sets: inout [Identity: Set<UInt64>]) {
            if isIn {
                sets[thread, default: []].insert(item)
            } else if sets[thread]?.remove(item) != nil, sets[thread]?.isEmpty == true {
                sets[thread] = nil
            }
        }
        note(!standing.isSeen, &unseen)
        note(!standing.isSeen || !standing.isRead, &unread)
        note(!(standing.isDeleted || standing.isGone || standing.isArchived || standing.isSnoozed), &inInbox)
    }

    private mutating func look(at item: UInt64, in state: borrowing TrayState, after fact: Fact) throws {
        guard items[item] != nil, let entry = try state.entry(of: item, stored: pages) else { return }
        note(entry, isSeen: state.isSeen(entry), after: fact)
    }

    private mutating func note(_ entry: ItemEntry, isSeen: Bool, after fact: Fact) {
        guard let tracked = items[entry.seq], !entry.flags.contains(.scheduled) else { return }
        let standing = ItemStanding(entry, isSeen: isSeen)
        // What is gone keeps its marks; an undo can bring it back.
        guard tracked.standing?.isGone != true || !standing.isGone else { return }
        // An edit, a new time to wake, and the answer to an item that was read before leave the standing unchanged.
        let kinds: [EventKind] = [.edited, .snoozed, .acted]
        guard tracked.standing != standing || kinds.contains(fact.kind) else { return }
        items[entry.seq]?.standing = standing
        file(entry.seq, thread: tracked.thread, standing)
        items[entry.seq]?.by.append(Seq(fact.seq))
    }
}

extension ItemPage {
    /// The items but those that are scheduled, which nobody has.
    fileprivate var arrived: [ItemEntry] { entries.filter { !$0.flags.contains(.scheduled) } }
}

extension UserSnapshot {
    /// The newest page of items that begins below a position; the newest items count as one.
    fileprivate func page(below limit: UInt64) throws -> ItemPage? {
        if !state.tail.entries.isEmpty, state.tail.first < limit { return state.tail }
        var found: ItemPage?
        try state.forEachSealedPage(below: limit, stored: pages) { page in
            found = page
            return false
        }
        return found
    }
}
