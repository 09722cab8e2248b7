import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogPlatform

/// The stored pages of one stream and the events of the log.
package struct StoredPages: StateSource, Sendable {
    /// Which state the pages are read for.
    package enum View: Hashable, Sendable {
        /// Pages as they were after this event: of a landmark, of the stored state, or of one in memory that holds all
        /// pages that changed since.
        case asOf(UInt64)
        /// The base: pages as they were right before the floor.
        case base
    }

    /// A snapshot; a whole environment for pages of the past that a long fold reads.
    let rows: any RowReader
    let tables: Tables
    package let floor: Floor
    package let stream: StreamID
    package let view: View
    /// The state was folded anew because what is stored of it since its base is damaged.
    package var isDamaged = false
    let categoryNames: CategoryNames

    init(
        rows: any RowReader, tables: Tables, floor: Floor, stream: StreamID, view: View, categoryNames: CategoryNames
    ) {
        self.rows = rows
        self.tables = tables
        self.floor = floor
        self.stream = stream
        self.view = view
        self.categoryNames = categoryNames
    }

    /// The pages of the same stream, or of another, for another state.
    package func viewing(_ view: View, stream: StreamID? = nil) -> StoredPages {
        StoredPages(
            rows: rows, tables: tables, floor: floor, stream: stream ?? self.stream, view: view,
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
                try states.page(stream, .events, at: seq, asOf: newest, in: transaction),
                try states.eventPage(stream, atOrAbove: seq, asOf: newest, in: transaction),
            ]
        }
        for case let version? in found {
            var reader = PackedReader(version.content)
            var page = try EventIndex.Page(from: &reader)
            page.last = version.changedBy
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

    var states: StateTable { view == .base ? tables.log.bases : tables.derived.states }

    /// No version counts that is newer.
    var newest: UInt64 { if case .asOf(let seq) = view { seq } else { .max } }

    private func page<Page>(
        _ space: PageSpace, at key: UInt64, _ unpack: (inout PackedReader) throws -> Page
    ) throws -> Page? {
        // Long answers go through many pages.
        try Cancellation.checkCurrent()
        let version = try rows.read { try states.page(stream, space, at: key, asOf: newest, in: $0) }
        guard let version else { return nil }
        var reader = PackedReader(version.content)
        return try unpack(&reader)
    }
}

extension StoredPages {
    /// The newest landmark at or before `seq`, or the base.
    package func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        let row = try rows.read { try tables.derived.states.landmark(stream, atOrBefore: seq, in: $0) }
        if let row {
            var reader = PackedReader(row)
            let state = try StoredState(from: &reader).state
            return Landmark(state: state, pages: viewing(.asOf(state.appliedSeq)))
        }
        guard floor.seq > .zero, let base = try rows.read({ try tables.log.bases.root(stream, in: $0) })?.state,
            base.appliedSeq <= seq
        else { return nil }
        return Landmark(state: base, pages: viewing(.base))
    }

    /// The firsts of pages that `seq` or a later event changed.
    package func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        var found: [(first: UInt64, changedBy: UInt64)] = []
        try rows.read { transaction in
            try states.forEachVersion(stream, space, in: transaction) { version in
                guard version.changedBy <= newest else { return true }
                if found.last?.first == version.first { found.removeLast() }
                // A page that ended has no place among them.
                found.append((version.first, version.content.isEmpty ? 0 : version.changedBy))
                return true
            }
        }
        return found.filter { $0.changedBy >= seq }.map(\.first)
    }
}
