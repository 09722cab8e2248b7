import TraylogDomain

/// All items of a tray at one moment, held against those at a later one.
struct ItemComparison {
    private struct Known {
        var standing: ItemStanding
        var overrides: [ItemOverride]
    }

    private let new: UserView
    private var before: [UInt64: Known] = [:]

    init(_ old: UserView, _ new: UserView) throws {
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

    /// Those that are not the same, ascending; who did it is still to be found.
    func changes() throws -> [ItemChange] {
        var changes: [ItemChange] = []
        try new.state.forEachItem(below: .max, stored: new.pages) { page, entry in
            let isSeen = new.state.isSeen(entry)
            let after = ItemStanding(entry, isSeen: isSeen)
            let overrides = Array(page.overrides(of: entry.seq))
            let known = before[entry.seq]
            guard known?.standing != after || known?.overrides != overrides else { return true }
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
