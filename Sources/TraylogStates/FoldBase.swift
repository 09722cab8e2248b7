import TraylogDomain
import TraylogLog
import TraylogPages

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
    private let states: StateTable
    private let rows: any RowReader
    private let pages: StoredPages

    /// - Parameters:
    ///   - record: has the floor.
    ///   - rows: an environment for a fold that takes long: only a compaction changes what is read.
    package init(of record: StoreRecord, _ tables: Tables, _ rows: any RowReader) {
        self.record = record
        self.rows = rows
        states = tables.states
        pages = StoredPages(
            rows: rows, tables: tables, record: record, stream: .absent, categoryNames: CategoryNames())
    }

    private var floor: UInt64 { record.floor.seq.rawValue }

    /// The base of a stream; nil for one that is folded from its first event.
    package func base(of stream: StreamID) throws -> FoldBase? {
        guard floor > 0, stream < record.floorStreams else { return nil }
        let stored = try rows.read { try states.base(stream, floor: floor, in: $0) }
        guard let stored else { return nil }
        return FoldBase(stored, pages: pages.viewing(.past(stored.state.appliedSeq), stream: stream))
    }

    /// The topics that have a base, in the order of their numbers.
    ///
    /// - Complexity: O(streams), less than a microsecond for each.
    package func topics() throws -> [(stream: StreamID, name: StreamName)] {
        guard floor > 0 else { return [] }
        var found: [(stream: StreamID, name: StreamName)] = []
        var first = StreamID.first
        while first < record.floorStreams {
            let end = min(first.advanced(by: Self.streamsAtOnce), record.floorStreams)
            try rows.read { transaction in
                for stream in first..<end where try !states.isUsers(stream, in: transaction) {
                    guard let base = try states.base(stream, floor: floor, in: transaction), base.name.isTopic else {
                        continue
                    }
                    found.append((stream, base.name))
                }
            }
            first = end
        }
        return found
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

/// The rows that keep the base of a fold beside the state that came of it, in a copy of the states that has neither.
package struct BaseRows {
    package let stream: StreamID
    package let floor: UInt64
    package let base: FoldBase
    /// The state that was folded over it, with all pages that changed since.
    package let folded: TrayState

    package init(stream: StreamID, floor: UInt64, base: FoldBase, folded: TrayState) {
        self.stream = stream
        self.floor = floor
        self.base = base
        self.folded = folded
    }

    /// Hands the rows over one by one.
    package func append(to rows: inout RowBuffer, full: (inout RowBuffer) throws -> Void) throws {
        if folded.appliedSeq > base.state.appliedSeq || !base.state.topics.isEmpty {
            rows.append(stream, .base, floor) { base.state.packRoot(of: base.name, into: &$0) }
        }
        let changed = Dictionary(folded.pages.map { ($0.first, $0.changedBy) }, uniquingKeysWith: { $1 })
        let obsolete = Set(folded.obsoletePages.map(\.first))
        try base.forEachItemPage { page in
            let now = changed[page.first] ?? (obsolete.contains(page.first) ? .max : page.changedBy)
            append(.items, page.first, page.changedBy, isInPlace: now == page.changedBy, to: &rows) {
                page.pack(into: &$0)
            }
            try full(&rows)
        }
        for (space, index) in TrayState.keyIndexes {
            let index = folded[keyPath: index]
            let changed = Dictionary(index.pages.map { ($0.first, $0.changedBy) }, uniquingKeysWith: { $1 })
            let obsolete = Set(index.obsolete.map(\.first))
            try base.forEachKeyPage(space) { page in
                let now = changed[page.first] ?? (obsolete.contains(page.first) ? .max : page.changedBy)
                append(space, page.first, page.changedBy, isInPlace: now == page.changedBy, to: &rows) {
                    page.pack(into: &$0)
                }
                try full(&rows)
            }
        }
        try base.forEachEventPage(before: firstFoldedEvent) { page in
            rows.append(stream, .page(.events), page.first) { page.pack(into: &$0) }
            try full(&rows)
        }
    }

    private var firstFoldedEvent: UInt64 {
        folded.events.sealed.first?.first ?? (folded.events.open.packed.isEmpty ? .max : folded.events.open.first)
    }

    private func append(
        _ space: PageSpace, _ first: UInt64, _ changedBy: UInt64, isInPlace: Bool, to rows: inout RowBuffer,
        _ pack: (inout [UInt8]) -> Void
    ) {
        if isInPlace {
            rows.append(stream, .page(space), first, pack: pack)
        } else {
            rows.append(stream, .kept(space), first, version: changedBy, pack: pack)
        }
    }
}
