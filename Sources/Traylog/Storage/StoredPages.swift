import TraylogDomain
import TraylogLMDB

/// A stored page is newer than the state that it was loaded for: another thread or process flushed in between.
///
/// Never seen outside: whoever reads takes the state anew and tries again.
struct StaleRead: Error {}

/// The stored pages of one stream and the events of the log, for a state that holds everything up to `limit`.
struct StoredPages: StateSource {
    let environment: Environment
    let tables: Tables
    let generation: Generation
    let stream: UInt32
    /// The newest event that a stored page may show; a later one means that the state is stale.
    let limit: UInt64
    /// Whether another process may swap the generations (``Rebuild``) while this value is in use.
    let isShared: Bool

    func items(at position: UInt64) throws -> ItemPage? {
        try page(.items, at: position) { reader in
            let page = try ItemPage(from: &reader)
            return (page, page.changedBy)
        }
    }

    func keys(at identity: UInt64) throws -> KeyIndex.Page? { try keyPage(.keys, at: identity) }

    func collapseKeys(at identity: UInt64) throws -> KeyIndex.Page? { try keyPage(.collapseKeys, at: identity) }

    /// The stored page of the stream's own events that holds `seq`, or else the first one after it.
    func eventPage(from seq: UInt64) throws -> EventIndex.Page? {
        let states = tables.states(generation)
        let rows = try environment.read { transaction in
            try checkGeneration(in: transaction)
            return (
                try states.floor(stream, .events, at: seq, in: transaction),
                try states.ceiling(stream, .events, at: seq, in: transaction)
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
        guard let event = try environment.read({ try tables.log.event(seq, in: $0) }) else {
            throw PackedError.damaged("a state names event \(seq), which the log does not hold")
        }
        return event
    }

    /// The stored state of the stream; nil when it has none.
    func root(of user: String) throws -> TrayState? {
        let states = tables.states(generation)
        return try environment.read { transaction in
            try checkGeneration(in: transaction)
            return try states.root(stream, of: user, in: transaction)?.state
        }
    }

    private func checkGeneration(in transaction: borrowing ReadTransaction) throws {
        guard isShared else { return }
        guard try StoreRecord.read(tables.meta, in: transaction)?.generation == generation else { throw StaleRead() }
    }

    private func keyPage(_ space: StateTable.Space, at identity: UInt64) throws -> KeyIndex.Page? {
        try page(space, at: identity) { reader in
            let page = try KeyIndex.Page(from: &reader)
            return (page, page.changedBy)
        }
    }

    private func page<Page>(
        _ space: StateTable.Space, at key: UInt64, _ read: (inout PackedReader) throws -> (Page, UInt64)
    ) throws -> Page? {
        let states = tables.states(generation)
        let row = try environment.read { transaction in
            try checkGeneration(in: transaction)
            return try states.floor(stream, space, at: key, in: transaction)
        }
        guard let row else { return nil }
        var reader = PackedReader(row)
        let (page, changedBy) = try read(&reader)
        guard changedBy <= limit else { throw StaleRead() }
        return page
    }
}
