import TraylogDomain
import TraylogLog

extension TrayState {
    /// Appends the rows that bring a stream's stored state up to this one: its changed pages and its root.
    ///
    /// - Complexity: O(items in memory and pages changed).
    package func pack(into rows: inout RowBuffer, stream: StreamID, name: StreamName) {
        for page in obsoletePages { rows.delete(stream, .page(.items), page.first) }
        for page in pages { rows.append(stream, .page(.items), page.first) { page.pack(into: &$0) } }
        for page in events.sealed { rows.append(stream, .page(.events), page.first) { page.pack(into: &$0) } }
        // One after the other: a key path would copy the state for each.
        keys.packPages(into: &rows, stream, .keys)
        collapseKeys.packPages(into: &rows, stream, .collapseKeys)
        moved.packPages(into: &rows, stream, .moved)
        voided.packPages(into: &rows, stream, .voided)
        tallies.packPages(into: &rows, stream, .tallies)
        rows.append(stream, .root, 0) { packRoot(of: name, into: &$0) }
    }

    /// Appends what a root row holds.
    package func packRoot(of name: StreamName, into bytes: inout [UInt8]) {
        bytes.append(name.isErased ? 2 : name.isTopic ? 1 : 0)
        let text = name.text
        bytes.appendVarint(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
        pack(into: &bytes)
    }
}

extension KeyIndex {
    fileprivate func packPages(into rows: inout RowBuffer, _ stream: StreamID, _ space: PageSpace) {
        for page in obsolete { rows.delete(stream, .page(space), page.first) }
        for page in pages { rows.append(stream, .page(space), page.first) { page.pack(into: &$0) } }
    }
}
