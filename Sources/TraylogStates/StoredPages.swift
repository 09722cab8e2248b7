import TraylogDomain
import TraylogLog
import TraylogPages
import TraylogPlatform

/// The stored pages of one stream and the events of the log.
package struct StoredPages: StateSource {
    /// Which state the pages are read for.
    package enum View: Hashable, Sendable {
        /// The stored one, or one in memory that holds all pages that changed since.
        case current
        /// A landmark: pages as they were after this event. They stay so until a compaction.
        case past(UInt64)
        /// The base: pages as they were right before the floor.
        case base
    }

    /// A snapshot; a whole environment for pages of the past that a long fold reads.
    let rows: any RowReader
    let tables: Tables
    package let floor: Floor
    let stream: StreamID
    /// Pages of this stream that are newer than those in their places lie among the kept ones (``StagedState``).
    private let staged: StreamID?
    package let view: View
    let categoryNames: CategoryNames

    init(
        rows: any RowReader, tables: Tables, record: StoreRecord, stream: StreamID, view: View = .current,
        categoryNames: CategoryNames
    ) {
        let staged = record.states.staged.flatMap { $0.isInForce ? $0.stream : nil }
        self.init(
            rows: rows, tables: tables, floor: record.floor, stream: stream, staged: staged, view: view,
            categoryNames: categoryNames)
    }

    private init(
        rows: any RowReader, tables: Tables, floor: Floor, stream: StreamID, staged: StreamID?, view: View,
        categoryNames: CategoryNames
    ) {
        self.rows = rows
        self.tables = tables
        self.floor = floor
        self.stream = stream
        self.staged = staged
        self.view = view
        self.categoryNames = categoryNames
    }

    /// The pages of the same stream, or of another, for another state.
    package func viewing(_ view: View, stream: StreamID? = nil) -> StoredPages {
        StoredPages(
            rows: rows, tables: tables, floor: floor, stream: stream ?? self.stream, staged: staged, view: view,
            categoryNames: categoryNames)
    }

    package func items(at position: UInt64) throws -> ItemPage? {
        try page(.items, at: position) { try ItemPage(from: &$0) }
    }

    package func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        try page(space, at: key) { try KeyIndex.Page(from: &$0) }
    }

    package func events(from seq: UInt64) throws -> EventIndex.Page? {
        let found = try rows.read { transaction in
            [
                try states.floor(stream, .page(.events), at: seq, in: transaction),
                try states.ceiling(stream, .page(.events), at: seq, in: transaction),
            ]
        }
        for case let row? in found {
            var reader = PackedReader(row)
            let page = try EventIndex.Page(from: &reader)
            if try page.seqs().last ?? 0 >= seq { return page }
        }
        return nil
    }

    package func event(_ seq: UInt64) throws -> Event {
        guard let event = try rows.read({ try tables.log.events.event(seq, in: $0) }) else { throw Self.missing(seq) }
        return event
    }

    package func recordedAt(_ seq: UInt64) throws -> Timestamp {
        let time = try rows.read { transaction in
            try tables.log.events.record(seq, in: transaction) { record in
                try RecordCodec.verify(seq: seq, record: record)
                return try RecordHeader.read(record, seq: seq).recordedAt
            }
        }
        guard let time else { throw Self.missing(seq) }
        return time
    }

    package func holds(_ seq: UInt64) throws -> Bool {
        try rows.read { try tables.log.events.record(seq, in: $0) { _ in } } != nil
    }

    package func compactedFingerprint(_ seq: UInt64) throws -> UInt64? {
        try rows.read { try tables.log.fingerprints.fingerprint(of: seq, in: $0) }
    }

    package func category(_ count: CategoryCount) throws -> String? {
        try categoryNames.name(of: count.category) { try event(count.namedBy).content?.category }
    }

    /// The items with their contents.
    package func items(_ shown: [ShownItem]) throws -> [Item] {
        try rows.read { transaction in
            var items = [Item](blanks: shown.count)
            for index in shown.indices {
                let seq = shown[index].entry.seq
                items[index].seq = Seq(seq)
                let found: Void? = try tables.log.events.record(seq, in: transaction) { record in
                    try tables.log.events.fill(&items[index], from: seq, record, in: transaction)
                }
                guard found != nil else { throw Self.missing(seq) }
                try shown[index].update(&items[index], from: self)
            }
            return items
        }
    }

    private static func missing(_ seq: UInt64) -> PackedError {
        .damaged("a state names event \(seq), which the log does not hold")
    }

    private var states: StateTable { view == .base ? tables.log.bases : tables.derived.states }

    private func page<Page>(
        _ space: PageSpace, at key: UInt64, _ unpack: (inout PackedReader) throws -> Page
    ) throws -> Page? {
        // Long answers go through many pages.
        try Cancellation.checkCurrent()
        let row = try rows.read { transaction in
            switch view {
            case .current where stream == staged: try states.page(stream, space, at: key, after: .max, in: transaction)
            case .current, .base: try states.floor(stream, .page(space), at: key, in: transaction)
            case .past(let seq): try states.page(stream, space, at: key, after: seq, in: transaction)
            }
        }
        guard let row else { return nil }
        var reader = PackedReader(row)
        return try unpack(&reader)
    }
}

extension StoredPages {
    /// The stored state of the stream; nil when it has none.
    package func root(of name: StreamName) throws -> TrayState? {
        try rows.read { try states.root(stream, of: name, in: $0)?.state }
    }

    /// A stored page with the event that changed it last, as it is in its place.
    func row(_ space: PageSpace, first: UInt64) throws -> (changedBy: UInt64, content: [UInt8])? {
        try rows.read { try states.row(stream, space, first: first, in: $0) }
    }

    /// The newest landmark at or before `seq`, or the base.
    package func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        let row = try rows.read { try tables.derived.states.floor(stream, .landmark, at: seq, in: $0) }
        if let row {
            var reader = PackedReader(row)
            let state = try StoredState(from: &reader).state
            return Landmark(state: state, pages: viewing(.past(state.appliedSeq)))
        }
        guard floor.seq > .zero, let base = try rows.read({ try tables.log.bases.root(stream, in: $0) })?.state,
            base.appliedSeq <= seq
        else { return nil }
        return Landmark(state: base, pages: viewing(.base))
    }

    /// The firsts of pages that `seq` or a later event changed.
    package func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        guard stream != staged else {
            return try newest(of: space).filter { !$0.isEnd && $0.changedBy >= seq }.map(\.first)
        }
        var firsts: [UInt64] = []
        try rows.read { transaction in
            try states.forEachPage(stream, space, in: transaction) { first, changedBy, _ in
                if changedBy >= seq { firsts.append(first) }
            }
        }
        return firsts
    }

    /// The firsts of pages that have ended, and may still be in their places.
    package func ended(of space: PageSpace) throws -> [UInt64] { try newest(of: space).filter(\.isEnd).map(\.first) }

    /// The newest version of each page, in its place or kept.
    private func newest(of space: PageSpace) throws -> [(first: UInt64, changedBy: UInt64, isEnd: Bool)] {
        var newest: [UInt64: (changedBy: UInt64, isEnd: Bool)] = [:]
        try rows.read { transaction in
            for kept in [false, true] {
                try states.forEachPage(stream, space, kept: kept, in: transaction) { first, changedBy, isEnd in
                    if newest[first].map({ $0.changedBy <= changedBy }) ?? true { newest[first] = (changedBy, isEnd) }
                }
            }
        }
        return newest.sorted { $0.key < $1.key }.map { ($0.key, $0.value.changedBy, $0.value.isEnd) }
    }
}
