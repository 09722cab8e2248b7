import TraylogDomain
@_spi(Replication) import TraylogReplica

extension InboxSource where Self: TrayQueries {
    /// One page of a user's inbox, for an ``InboxFetcher``.
    ///
    /// - Throws: as ``TrayQueries/inbox(of:_:asOf:)``.
    @_spi(Replication) public func page(
        of user: String, _ query: InboxQuery
    ) async throws(TraylogError) -> Page<Item, TraylogDomain.Cursor> {
        try await inbox(of: user, query)
    }

    /// Items as they are now, for an ``InboxFetcher``; without those that a compaction removed.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    @_spi(Replication) public func items(_ seqs: [Seq], of user: String) async throws(TraylogError) -> [Item] {
        try await asking { store throws(TraylogError) in
            var items: [Item] = []
            for seq in seqs {
                do throws(TraylogError) {
                    items.append(try store.item(.seq(seq), of: user))
                } catch {
                    guard case .refused = error else { throw error }
                }
            }
            return items
        }
    }
}

extension StoreReader: InboxSource {}

extension Store: MarkableInbox {
    /// Performs a user's action in an ``InboxFetcher``.
    ///
    /// - Throws: as ``perform(_:)-(Command)``.
    @_spi(Replication) public func perform(
        _ action: Command.Action, of user: String
    ) async throws(TraylogError) -> Receipt {
        try await perform(Command(user: user, action))
    }
}
