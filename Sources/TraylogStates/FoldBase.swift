import TraylogDomain
import TraylogPages

/// What a compaction kept of a stream, for a fold of the events that are left.
package struct FoldBase {
    package let name: StreamName
    package let state: TrayState
    package let pages: StoredPages

    package init(name: StreamName, state: TrayState, pages: StoredPages) {
        self.name = name
        self.state = state
        self.pages = pages
    }
}

extension FoldBase {
    /// Those of a store, by stream.
    ///
    /// - Parameters:
    ///   - record: which copy of the states holds them, and the floor.
    ///   - rows: an environment for a fold that takes long: only a compaction changes what is read.
    package static func reader(
        of record: StoreRecord, _ tables: Tables, _ rows: any RowReader
    ) -> @Sendable (UInt32) throws -> FoldBase? {
        let pages = StoredPages(
            rows: rows, tables: tables, record: record, stream: 0, categoryNames: CategoryNames())
        return { stream in
            guard record.floor.seq > .zero, stream < record.floorStreams else { return nil }
            let stored = try rows.read { transaction in
                try tables.states.base(stream, floor: record.floor.seq.rawValue, in: transaction)
            }
            guard let stored else { return nil }
            return FoldBase(
                name: stored.name, state: stored.state,
                pages: pages.viewing(.past(stored.state.appliedSeq), stream: stream))
        }
    }
}

/// The pages of a state that is folded from the log: all that changed are at hand, others as the base has them.
package struct BasePages: StatePages {
    package let stored: StoredPages?

    package init(stored: StoredPages?) { self.stored = stored }

    package func items(at position: UInt64) throws -> ItemPage? { try stored?.items(at: position) }
    package func keys(_ space: PageSpace, at identity: UInt64) throws -> KeyIndex.Page? {
        try stored?.keys(space, at: identity)
    }
    package func events(from seq: UInt64) throws -> EventIndex.Page? { try stored?.events(from: seq) }
}
