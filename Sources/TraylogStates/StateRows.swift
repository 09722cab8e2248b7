import TraylogDomain
import TraylogLog

/// The rows of a state.
///
/// They can be written one after the other, in as many transactions as they need: nobody reads pages that are newer than
/// the root, which comes behind them.
extension TrayState {
    /// Appends the pages that changed and the root: all that a state without a past is stored as.
    ///
    /// - Complexity: O(items in memory and pages changed).
    package func pack(into rows: inout RowBuffer, stream: StreamID, name: StreamName) {
        packPages(into: &rows, stream)
        rows.append(stream, .root, 0) { packRoot(of: name, into: &$0) }
    }

    /// Appends the rows that bring what is stored of a stream up to this state.
    ///
    /// - Parameters:
    ///   - landmarks: states that are not stored, ascending, which come before it.
    ///   - stored: what is stored so far; nil where nothing of it has to go.
    package func pack(
        into rows: inout RowBuffer, stream: StreamID, name: StreamName, landmarks: [TrayState],
        over stored: StoredPages?
    ) throws {
        let start = rows.count
        packPages(into: &rows, stream)
        for (landmark, next) in zip(landmarks, landmarks.dropFirst() + [self]) {
            landmark.packPages(into: &rows, stream, before: next)
        }
        packEnds(into: &rows, stream)
        for landmark in landmarks { landmark.packLandmark(into: &rows, stream, name) }
        rows.append(stream, .root, 0) { packRoot(of: name, into: &$0) }
        try stored?.deleteReplaced(by: self, of: name, writtenFrom: start, to: &rows)
    }

    private func packPages(into rows: inout RowBuffer, _ stream: StreamID) {
        for page in pages { rows.append(stream, .items, page) }
        for page in events.sealed {
            rows.append(stream, .page(.events), page.first, version: page.last) { page.pack(into: &$0) }
        }
        // One after the other: a key path would copy the state for each.
        for page in keys.pages { rows.append(stream, .keys, page) }
        for page in collapseKeys.pages { rows.append(stream, .collapseKeys, page) }
        for page in moved.pages { rows.append(stream, .moved, page) }
        for page in voided.pages { rows.append(stream, .voided, page) }
        for page in tallies.pages { rows.append(stream, .tallies, page) }
    }

    /// Appends those of a landmark's pages that the next state does not have in the same version, and what had ended.
    package func packPages(into rows: inout RowBuffer, _ stream: StreamID, before next: TrayState) {
        rows.append(stream, .items, pages, before: next.pages)
        // Keys answer for commands, which are decided at the head.
        for (space, index) in TrayState.keyIndexes where space != .keys {
            rows.append(stream, space, self[keyPath: index].pages, before: next[keyPath: index].pages)
        }
        packEnds(into: &rows, stream)
    }

    /// Says from when on pages were no part of the state any more.
    package func packEnds(into rows: inout RowBuffer, _ stream: StreamID) {
        for end in obsoletePages { rows.append(stream, .page(.items), end.first, version: end.by) { _ in } }
        for (space, index) in TrayState.keyIndexes {
            for end in self[keyPath: index].obsolete {
                rows.append(stream, .page(space), end.first, version: end.by) { _ in }
            }
        }
    }

    package func packLandmark(into rows: inout RowBuffer, _ stream: StreamID, _ name: StreamName) {
        rows.append(stream, .landmark, appliedSeq) { packRoot(of: name, into: &$0) }
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

extension RowBuffer {
    fileprivate mutating func append(_ stream: StreamID, _ space: PageSpace, _ page: some StatePage) {
        append(stream, .page(space), page.first, version: page.changedBy) { page.pack(into: &$0) }
    }

    /// Appends the pages that are not among later ones in the same version; both ascend.
    fileprivate mutating func append<Page: StatePage>(
        _ stream: StreamID, _ space: PageSpace, _ pages: [Page], before later: [Page]
    ) {
        var rest = later[...]
        for page in pages {
            rest = rest.drop { $0.first < page.first }
            if let same = rest.first, same.first == page.first, same.changedBy == page.changedBy { continue }
            append(stream, space, page)
        }
    }
}

extension StoredPages {
    /// Appends the deletion of what nobody needs any more once a newer state is stored.
    ///
    /// - Parameter start: where the rows of that state begin in the buffer.
    /// - Complexity: a lookup for each page that changed and may be stored.
    fileprivate func deleteReplaced(
        by state: TrayState, of name: StreamName, writtenFrom start: Int, to rows: inout RowBuffer
    ) throws {
        guard !isDamaged else { return try deleteAll(butFrom: start, to: &rows) }
        guard newest > 0 else { return }
        // Items that came since have pages that are new.
        var changed = state.pages.filter { $0.first <= newest }.map { (PageSpace.items, $0.first, $0.changedBy) }
        changed += state.obsoletePages.map { (.items, $0.first, $0.by) }
        for (space, index) in TrayState.keyIndexes {
            let index = state[keyPath: index]
            changed += index.pages.map { (space, $0.first, $0.changedBy) }
            changed += index.obsolete.map { (space, $0.first, $0.by) }
        }
        for (space, first, changedBy) in changed {
            // Landmarks need what was there before them.
            let kept = space == .keys || name.isTopic ? 0 : state.lastLandmark
            guard changedBy > kept else { continue }
            do {
                try self.rows.read { transaction in
                    try states.forEachVersion(stream, space, from: first, changedBy: kept + 1, in: transaction) {
                        guard $0.first == first, $0.changedBy < changedBy else { return false }
                        rows.delete(stream, .page(space), first, version: $0.changedBy)
                        return true
                    }
                }
            } catch PackedError.damaged {
                // Whoever reads it finds that, and all of the state is stored anew.
            }
        }
    }

    /// The state was folded anew, and takes the place of everything that is stored since its base.
    private func deleteAll(butFrom start: Int, to rows: inout RowBuffer) throws {
        var written: Set<[UInt8]> = []
        rows.forEachKey(from: start) { written.insert($0) }
        let stored = try self.rows.read { try states.keys(stream, after: newest, in: $0) }
        for key in stored where !written.contains(key) { rows.delete(key) }
    }
}
