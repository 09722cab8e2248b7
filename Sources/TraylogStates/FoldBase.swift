import TraylogDomain
import TraylogLog
import TraylogLMDB

/// The state that a compaction kept of a stream, for a fold of the events that are left.
///
/// It is shared rather than copied: a fold of the whole log has one for each stream.
package final class FoldBase: Sendable {
    package let name: StreamName
    package let state: TrayState
    package let pages: StoredPages

    init(_ stored: consuming StoredState, pages: StoredPages) {
        name = stored.name
        state = stored.state
        self.pages = pages
    }
}

/// The bases of a store's streams.
package struct FoldBases: Sendable {
    /// Streams that one read transaction looks at.
    private static let streamsAtOnce = 10_000

    private let record: StoreRecord
    private let bases: StateTable
    private let rows: any RowReader
    private let pages: StoredPages

    /// - Parameters:
    ///   - record: has the floor.
    ///   - rows: an environment for a fold that takes long: only a compaction changes what is read.
    package init(of record: StoreRecord, _ tables: Tables, _ rows: any RowReader) {
        self.record = record
        self.rows = rows
        bases = tables.log.bases
        pages = StoredPages(
            rows: rows, tables: tables, floor: record.floor, stream: .absent, view: .base,
            categoryNames: CategoryNames())
    }

    /// The base of a stream; nil for one that is folded from its first event.
    package func base(of stream: StreamID) throws -> FoldBase? {
        guard stream < record.floorStreams, let stored = try rows.read({ try bases.root(stream, in: $0) }) else {
            return nil
        }
        return FoldBase(stored, pages: pages.viewing(.base, stream: stream))
    }

    /// The topics that have a base, in the order of their numbers.
    ///
    /// - Complexity: O(streams), less than a microsecond for each.
    package func topics() throws -> [(stream: StreamID, name: StreamName)] {
        var found: [(stream: StreamID, name: StreamName)] = []
        var first = StreamID.first
        while first < record.floorStreams {
            let end = min(first.advanced(by: Self.streamsAtOnce), record.floorStreams)
            try rows.read { transaction in
                for stream in first..<end where try bases.isTopics(stream, in: transaction) {
                    if let base = try bases.root(stream, in: transaction) { found.append((stream, base.name)) }
                }
            }
            first = end
        }
        return found
    }
}

extension StateTable {
    /// Whether the root of a stream says that it is a topic's, or cannot be read.
    fileprivate func isTopics(_ stream: StreamID, in transaction: borrowing ReadTransaction) throws -> Bool {
        let key = StateTable.key(stream, .root, 0)
        return try transaction.get(database, RawSpan(_elements: key.span)) { value in
            value.byteCount <= Checked.checksumBytes || value.byte(at: 0) == StoredState.topicKind
        } ?? false
    }
}

/// The pages of a state that is folded from the log, as far as they did not change since the base.
package struct BasePages: StatePages {
    package let stored: StoredPages?

    package init(stored: StoredPages?) { self.stored = stored }

    package func items(at position: UInt64) throws -> ItemPage? { try stored?.items(at: position) }
    package func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        try stored?.keys(space, at: key)
    }
    package func events(from seq: UInt64) throws -> EventIndex.Page? { try stored?.events(from: seq) }
}

extension FoldBase {
    /// Visits the item pages of the base, newest first.
    ///
    /// - Throws: ``PackedError`` `damaged` for pages that do not follow on each other.
    func forEachItemPage(_ body: (ItemPage) throws -> Void) throws {
        guard state.sealedPages > 0 else { return }
        var bound = UInt64.max
        while let page = try pages.items(at: bound) {
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            try body(page)
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// The same of one of the ``TrayState/keyIndexes``.
    func forEachKeyPage(_ space: PageSpace, _ body: (KeyIndex.Page) throws -> Void) throws {
        var bound = UInt64.max
        while let page = try pages.keys(space, at: bound) {
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            try body(page)
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// Visits the sealed pages of the stream's own events, oldest first, those before `end`.
    package func forEachEventPage(before end: UInt64, _ body: (EventIndex.Page) throws -> Void) throws {
        var next: UInt64 = 1
        while let page = try pages.events(from: next), page.first < end {
            try body(page)
            guard let last = try page.seqs().last, last >= next else {
                throw PackedError.damaged("the index of events")
            }
            next = last + 1
        }
    }
}

/// Appends the rows of pages that a fold took over from its base.
package struct BaseRows {
    package let stream: StreamID
    package let base: FoldBase
    /// The state that was folded over it, with all pages that changed since.
    package let folded: TrayState
    /// Whether pages that changed are wanted as they were, too, for landmarks that show them.
    package let hasLandmarks: Bool

    package init(stream: StreamID, base: FoldBase, folded: TrayState, hasLandmarks: Bool = false) {
        self.stream = stream
        self.base = base
        self.folded = folded
        self.hasLandmarks = hasLandmarks
    }

    /// - Parameters:
    ///   - full: called after each row.
    ///   - events: what is left of a page of the index of events; nil for nothing.
    package func append(
        to rows: inout RowBuffer, full: (inout RowBuffer) throws -> Void = { _ in },
        events: (EventIndex.Page) throws -> EventIndex.Page? = { $0 }
    ) throws {
        let changed = Set(folded.pages.map(\.first) + folded.obsoletePages.map(\.first))
        try base.forEachItemPage { page in
            append(.items, page.first, page.changedBy, isChanged: changed.contains(page.first), to: &rows) {
                page.pack(into: &$0)
            }
            try full(&rows)
        }
        for (space, index) in TrayState.keyIndexes {
            let index = folded[keyPath: index]
            let changed = Set(index.pages.map(\.first) + index.obsolete.map(\.first))
            try base.forEachKeyPage(space) { page in
                append(space, page.first, page.changedBy, isChanged: changed.contains(page.first), to: &rows) {
                    page.pack(into: &$0)
                }
                try full(&rows)
            }
        }
        let open = folded.events.open
        let end = folded.events.sealed.first?.first ?? (open.packed.isEmpty ? .max : open.first)
        try base.forEachEventPage(before: end) { page in
            guard let left = try events(page) else { return }
            rows.append(stream, .page(.events), left.first, version: left.last) { left.pack(into: &$0) }
            try full(&rows)
        }
    }

    private func append(
        _ space: PageSpace, _ first: UInt64, _ changedBy: UInt64, isChanged: Bool, to rows: inout RowBuffer,
        _ pack: (inout [UInt8]) -> Void
    ) {
        guard !isChanged || (hasLandmarks && space != .keys) else { return }
        rows.append(stream, .page(space), first, version: changedBy, pack: pack)
    }
}
