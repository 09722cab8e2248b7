/// What stands for the items of a group that are not shown.
struct SummaryPhrase {
    private var count: UInt64 = 0
    private var names: Set<UInt64> = []
    /// One item for each of the first names, newest first: as many as a phrase can say.
    private var first: [ShownItem] = []

    /// Adds an item that is not shown; newest first.
    mutating func add(_ item: ShownItem) {
        count += UInt64(item.entry.summaryCount)
        guard item.entry.argument != 0, names.insert(item.entry.argument).inserted, first.count < 3 else { return }
        first.append(item)
    }

    /// Items that carry the names which the phrase says, in order: at most three.
    var spoken: ArraySlice<ShownItem> { names.count <= 3 ? first[...] : first.prefix(2) }

    /// The phrase, given the names of ``spoken``; nil when the items count for nothing.
    func text(_ spoken: [String]) -> String? {
        guard count > 0 else { return nil }
        let start = count == 1 ? "1 more notification" : "\(count) more notifications"
        switch (names.count, spoken.count) {
        case (0, _): return start
        case (1, 1): return "\(start) from \(spoken[0])"
        case (2, 2): return "\(start) from \(spoken[0]) and \(spoken[1])"
        case (3, 3): return "\(start) from \(spoken[0]), \(spoken[1]) and \(spoken[2])"
        default: return "\(start) from \(spoken.joined(separator: ", ")) and \(names.count - spoken.count) others"
        }
    }
}
