import TraylogDomain

/// What a compaction kept of a stream, for a fold of the events that are left.
struct FoldBase {
    let name: StreamName
    let state: TrayState
    let pages: StoredPages
}

extension FoldBase {
    /// Those of a store, by stream.
    ///
    /// - Parameter generation: of the states that hold them.
    static func reader(
        of source: StoredPages, below end: UInt32
    ) -> @Sendable (UInt32) throws -> FoldBase? {
        { stream in
            guard source.floor.seq > .zero, stream < end else { return nil }
            let states = source.tables.states(source.generation)
            let stored = try source.environment.read { transaction in
                try states.base(stream, floor: source.floor.seq.rawValue, in: transaction)
            }
            guard let stored else { return nil }
            return FoldBase(
                name: stored.name, state: stored.state,
                pages: source.viewing(.past(stored.state.appliedSeq), stream: stream))
        }
    }
}

/// The pages of a state that is folded from the log: all that changed are at hand, others as the base has them.
struct BasePages: StatePages {
    let stored: StoredPages?

    func items(at position: UInt64) throws -> ItemPage? { try stored?.items(at: position) }
    func keys(_ space: PageSpace, at identity: UInt64) throws -> KeyIndex.Page? {
        try stored?.keys(space, at: identity)
    }
    func events(from seq: UInt64) throws -> EventIndex.Page? { try stored?.events(from: seq) }
}
