@testable import TraylogDomain

/// The rows of one user's state as the store keeps them: packed, each page under its first key.
struct PackedRows: Hashable {
    private(set) var root: [UInt8] = []
    private(set) var pages: [PageSpace: [UInt64: [UInt8]]] = [:]

    init() {}

    /// The rows that a flush of `state` writes.
    init(of state: TrayState) {
        state.pack(into: &root)
        for page in state.pages { put(.items, page.first) { page.pack(into: &$0) } }
        for page in state.events.sealed { put(.events, page.first) { page.pack(into: &$0) } }
        for (space, index) in TrayState.keyIndexes {
            for page in state[keyPath: index].pages { put(space, page.first) { page.pack(into: &$0) } }
        }
    }

    private mutating func put(_ space: PageSpace, _ first: UInt64, _ pack: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        pack(&bytes)
        pages[space, default: [:]][first] = bytes
    }

    /// Takes over the rows of a later flush.
    mutating func absorb(_ newer: PackedRows) {
        root = newer.root
        for (space, rows) in newer.pages { pages[space, default: [:]].merge(rows) { _, new in new } }
    }

    /// The stored root; an empty state before the first flush.
    func state() throws -> TrayState {
        root.isEmpty ? TrayState() : try root.unpacked(TrayState.init(from:))
    }

    /// The row with the greatest key at or below `key`.
    func floor(_ space: PageSpace, at key: UInt64) -> [UInt8]? {
        guard let rows = pages[space], let first = rows.keys.filter({ $0 <= key }).max() else { return nil }
        return rows[first]
    }
}

/// Stored rows and the log, for a state that holds everything up to `limit` and perhaps more.
struct RowSource: StateSource {
    struct StalePage: Error {}
    struct MissingEvent: Error {}

    var rows = PackedRows()
    var log: [Event] = []
    /// The newest event that a stored page may show.
    var limit: UInt64 = 0

    func items(at position: UInt64) throws -> ItemPage? {
        let page = try rows.floor(.items, at: position)?.unpacked(ItemPage.init(from:))
        return try checked(page, page?.changedBy)
    }

    func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? { try keyPage(space, key) }

    func events(from seq: UInt64) throws -> EventIndex.Page? {
        let pages = rows.pages[.events] ?? [:]
        let found = pages.keys.sorted().last { $0 <= seq } ?? pages.keys.min()
        return try found.flatMap { pages[$0] }?.unpacked(EventIndex.Page.init(from:))
    }

    func event(_ seq: UInt64) throws -> Event {
        guard seq > 0, seq <= UInt64(log.count) else { throw MissingEvent() }
        return log[Int(seq) - 1]
    }

    private func keyPage(_ space: PageSpace, _ key: UInt64) throws -> KeyIndex.Page? {
        let page = try rows.floor(space, at: key)?.unpacked(KeyIndex.Page.init(from:))
        return try checked(page, page?.changedBy)
    }

    private func checked<Page>(_ page: Page?, _ changedBy: UInt64?) throws -> Page? {
        if let changedBy, changedBy > limit { throw StalePage() }
        return page
    }
}

extension [UInt8] {
    /// The value that all of the bytes encode.
    func unpacked<Value>(_ read: (inout PackedReader) throws -> Value) throws -> Value {
        var reader = PackedReader(self)
        let value = try read(&reader)
        guard reader.isAtEnd else { throw PackedError.damaged("bytes left over") }
        return value
    }
}
