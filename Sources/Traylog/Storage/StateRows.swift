import TraylogDomain

extension TrayState {
    /// Appends the rows that bring a stream's stored state up to this one: its changed pages and its root.
    ///
    /// - Complexity: O(items at hand and pages changed).
    func pack(into rows: inout RowBuffer, stream: UInt32, user: String) {
        for page in pages { rows.append(stream, .items, page.first) { page.pack(into: &$0) } }
        for page in events.sealed { rows.append(stream, .events, page.first) { page.pack(into: &$0) } }
        for page in keys.pages { rows.append(stream, .keys, page.first) { page.pack(into: &$0) } }
        for page in collapseKeys.pages { rows.append(stream, .collapseKeys, page.first) { page.pack(into: &$0) } }
        rows.append(stream, .root, 0) { bytes in
            bytes.appendVarint(UInt64(user.utf8.count))
            bytes.append(contentsOf: user.utf8)
            pack(into: &bytes)
        }
    }

    /// Lets go of the pages that were stored when the state had applied `seq`.
    mutating func forgetPages(storedThrough seq: UInt64) {
        if !pages.isEmpty { pages.removeAll { $0.changedBy <= seq } }
        if !events.sealed.isEmpty { events.sealed.removeAll { $0.last <= seq } }
        if !keys.pages.isEmpty { keys.pages.removeAll { $0.changedBy <= seq } }
        if !collapseKeys.pages.isEmpty { collapseKeys.pages.removeAll { $0.changedBy <= seq } }
    }
}
