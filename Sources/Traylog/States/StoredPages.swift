import TraylogDomain
import TraylogLMDB
import TraylogPages

/// A stored page is newer than the state that it was loaded for: another thread or process flushed in between.
///
/// Never seen outside: whoever reads takes the state anew and tries again.
struct StaleRead: Error {}

/// The stored pages of one stream and the events of the log.
struct StoredPages: StateSource {
    /// Which state the pages are read for.
    enum View: Hashable, Sendable {
        /// The stored one, which holds everything up to a seq: pages that a later event changed mean that it is stale.
        case current(limit: UInt64)
        /// A landmark: pages as they were after this event.
        case past(UInt64)
    }

    let environment: Environment
    let tables: Tables
    let generation: Generation
    let stream: UInt32
    let view: View
    let floor: Floor
    /// Whether another process may swap the generations (``Rebuild``) while this value is in use.
    let isShared: Bool
    let categoryNames: CategoryNames

    /// The same stream's, or another's, for another state.
    func viewing(_ view: View, stream: UInt32? = nil) -> StoredPages {
        StoredPages(
            environment: environment, tables: tables, generation: generation, stream: stream ?? self.stream, view: view,
            floor: floor, isShared: isShared, categoryNames: categoryNames)
    }

    func items(at position: UInt64) throws -> ItemPage? {
        try page(.items, at: position) { reader in
            let page = try ItemPage(from: &reader)
            return (page, page.changedBy)
        }
    }

    func keys(_ space: PageSpace, at identity: UInt64) throws -> KeyIndex.Page? {
        try page(space, at: identity) { reader in
            let page = try KeyIndex.Page(from: &reader)
            return (page, page.changedBy)
        }
    }

    func events(from seq: UInt64) throws -> EventIndex.Page? {
        let states = tables.states(generation)
        let rows = try environment.read { transaction in
            try checkGeneration(in: transaction)
            return (
                try states.floor(stream, .page(.events), at: seq, in: transaction),
                try states.ceiling(stream, .page(.events), at: seq, in: transaction)
            )
        }
        for row in [rows.0, rows.1] {
            guard let row else { continue }
            var reader = PackedReader(row)
            let page = try EventIndex.Page(from: &reader)
            if try page.seqs().last ?? 0 >= seq { return page }
        }
        return nil
    }

    func event(_ seq: UInt64) throws -> Event {
        guard let event = try environment.read({ try tables.log.event(seq, in: $0) }) else { throw Self.missing(seq) }
        return event
    }

    func holds(_ seq: UInt64) throws -> Bool {
        try environment.read { try tables.log.record(seq, in: $0) { _ in } } != nil
    }

    func compactedFingerprint(_ seq: UInt64) throws -> UInt64? {
        try environment.read { try tables.fingerprints.fingerprint(of: seq, in: $0) }
    }

    func category(_ count: CategoryCount) throws -> String? {
        try categoryNames.name(of: count.category) { try event(count.namedBy).content?.category }
    }

    /// The items with their contents, read in one transaction.
    func items(_ shown: [ShownItem]) throws -> [Item] {
        var seqs: [UInt64] = []
        seqs.reserveCapacity(shown.count)
        for item in shown { seqs.append(item.entry.seq) }
        return try environment.read { transaction in
            var items = [Item](blanks: shown.count)
            let missing = try tables.log.forEachRecord(seqs.span, in: transaction) { index, record in
                let seq = seqs[index]
                items[index].seq = Seq(seq)
                try tables.log.fill(&items[index], from: seq, record, in: transaction)
                try shown[index].update(&items[index], from: self)
            }
            if let missing { throw Self.missing(seqs[missing]) }
            return items
        }
    }

    private static func missing(_ seq: UInt64) -> PackedError {
        .damaged("a state names event \(seq), which the log does not hold")
    }

    /// The stored state of the stream; nil when it has none.
    func root(of name: StreamName) throws -> TrayState? {
        let states = tables.states(generation)
        return try environment.read { transaction in
            try checkGeneration(in: transaction)
            return try states.root(stream, of: name, in: transaction)?.state
        }
    }

    private func checkGeneration(in transaction: borrowing ReadTransaction) throws {
        guard isShared else { return }
        let record = try StoreRecord.read(tables.meta, in: transaction)
        guard record?.generation == generation, record?.floor == floor else { throw StaleRead() }
    }

    private func page<Page>(
        _ space: PageSpace, at key: UInt64, _ read: (inout PackedReader) throws -> (Page, UInt64)
    ) throws -> Page? {
        let states = tables.states(generation)
        let row = try environment.read { transaction in
            try checkGeneration(in: transaction)
            return switch view {
            case .current: try states.floor(stream, .page(space), at: key, in: transaction)
            case .past(let seq): try states.page(stream, space, at: key, after: seq, in: transaction)
            }
        }
        guard let row else { return nil }
        var reader = PackedReader(row)
        let (page, changedBy) = try read(&reader)
        if case .current(let limit) = view, changedBy > limit { throw StaleRead() }
        return page
    }
}

extension StoredPages {
    /// A stored page with the event that changed it last, as it is now.
    func row(_ space: PageSpace, first: UInt64) throws -> (changedBy: UInt64, content: [UInt8])? {
        let states = tables.states(generation)
        return try environment.read { try states.row(stream, space, first: first, in: $0) }
    }

    /// The newest landmark at or before `seq`, or what was kept of the stream at the floor.
    func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        let states = tables.states(generation)
        let stored: StoredState? = try environment.read { transaction in
            try checkGeneration(in: transaction)
            if let row = try states.floor(stream, .landmark, at: seq, in: transaction) {
                var reader = PackedReader(row)
                return try StoredState(from: &reader)
            }
            return try states.base(stream, floor: floor.seq.rawValue, in: transaction)
        }
        guard let state = stored?.state, state.appliedSeq <= seq else { return nil }
        return Landmark(state: state, pages: viewing(.past(state.appliedSeq)))
    }

    /// The firsts of pages that `seq` or a later event changed.
    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        let states = tables.states(generation)
        return try environment.read { transaction in
            try checkGeneration(in: transaction)
            var firsts: [UInt64] = []
            try states.forEachPage(stream, space, in: transaction) { first, changedBy in
                if case .current(let limit) = view, changedBy > limit { throw StaleRead() }
                if changedBy >= seq { firsts.append(first) }
            }
            return firsts
        }
    }
}
