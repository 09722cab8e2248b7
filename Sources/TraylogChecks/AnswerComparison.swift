import TraylogDomain
import TraylogQueries

/// The state that queries answer from, held against the one that the log gives, as far as an answer can show it.
///
/// How a state is divided into pages, and which marks still wait for their pages, is not compared: a past state is folded
/// from a landmark, and may differ in this.
struct AnswerComparison<Pages: StatePages> {
    let answered: UserSnapshot
    let folded: TrayState
    /// What is not at hand of the folded state.
    let pages: Pages

    private struct Standing: Hashable {
        var entry: ItemEntry
        var overrides: [ItemOverride]
    }

    /// The first difference in words; nil when there is none.
    ///
    /// - Complexity: O(the user's items), in memory as well.
    func difference() throws -> String? {
        try counters() ?? identities() ?? items()
    }

    private func counters() -> String? {
        let fields: [(String, KeyPath<TrayState, UInt64>)] = [
            ("total", \.total), ("unseen", \.unseen), ("unread", \.unread), ("seenUpTo", \.seenUpTo),
            ("the event of seenAt", \.seenBy), ("newest", \.newest.listed), ("newestCounted", \.newest.counted),
            ("the number of events", \.events.count),
        ]
        for (name, field) in fields where answered.state[keyPath: field] != folded[keyPath: field] {
            return "\(name) is \(answered.state[keyPath: field]) and should be \(folded[keyPath: field])"
        }
        return nil
    }

    private func identities() -> String? {
        let state = answered.state
        let counted = state.categories.elementsEqual(folded.categories) {
            ($0.category, $0.unseen, $0.unread) == ($1.category, $1.unseen, $1.unread)
        }
        if !counted { return "the counts by category differ" }
        if state.mutedThreads != folded.mutedThreads || state.mutedCategories != folded.mutedCategories {
            return "what is muted differs"
        }
        return state.topics != folded.topics ? "the subscriptions differ" : nil
    }

    private func items() throws -> String? {
        let mine = try standings(answered.state, answered.pages)
        let right = try standings(folded, pages)
        if let pair = zip(mine, right).first(where: { $0 != $1 }) { return "item \(pair.1.entry.seq) differs" }
        guard mine.count != right.count else { return nil }
        return "there are \(mine.count) items and should be \(right.count)"
    }

    private func standings(_ state: TrayState, _ pages: some StatePages) throws -> [Standing] {
        var standings: [Standing] = []
        try state.forEachItem(below: .max, stored: pages) { page, entry in
            var shown = entry
            // Said by the flag or by the mark, it is the same.
            if state.isSeen(entry) { shown.flags.insert(.seen) }
            standings.append(Standing(entry: shown, overrides: Array(page.overrides(of: entry.seq))))
            return true
        }
        return standings
    }
}
