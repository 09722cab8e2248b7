import TraylogDomain

extension TrayState {
    /// The rows that bring a stream's stored state up to this one: its changed pages and its root.
    ///
    /// - Complexity: O(items at hand and pages changed).
    func rows(stream: UInt32, user: String) -> [StateRow] {
        var rows: [StateRow] = []
        for page in pages {
            rows.append(StateRow(stream, .items, page.first, capacity: 2_048) { page.pack(into: &$0) })
        }
        for page in events.sealed {
            rows.append(
                StateRow(stream, .events, page.first, capacity: page.packed.count + 24) { page.pack(into: &$0) })
        }
        for page in keys.pages {
            rows.append(StateRow(stream, .keys, page.first, capacity: 2_048) { page.pack(into: &$0) })
        }
        for page in collapseKeys.pages {
            rows.append(StateRow(stream, .collapseKeys, page.first, capacity: 2_048) { page.pack(into: &$0) })
        }
        let root = StoredState(user: user, state: self)
        rows.append(StateRow(stream, .root, 0, capacity: 1_024) { root.pack(into: &$0) })
        return rows
    }

    /// Lets go of the pages that were stored when the state had applied `seq`.
    mutating func forgetPages(storedThrough seq: UInt64) {
        pages.removeAll { $0.changedBy <= seq }
        events.sealed.removeAll { $0.last <= seq }
        keys.pages.removeAll { $0.changedBy <= seq }
        collapseKeys.pages.removeAll { $0.changedBy <= seq }
    }
}
