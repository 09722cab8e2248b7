import TraylogDomain
import TraylogReplica

extension InboxSource where Self: TrayQueries {
    // swift-format-ignore: NoLeadingUnderscores
    /// One page of a user's inbox, for an ``InboxFetcher``.
    ///
    /// - Throws: as ``TrayQueries/inbox(of:_:asOf:)``.
    public func _page(of user: String, _ query: InboxQuery) async throws(TraylogError) -> Page<
        Item, TraylogDomain.Cursor
    > {
        try await inbox(of: user, query)
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// Items as they are now, for an ``InboxFetcher``; without those that a compaction removed.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    public func _items(_ seqs: [Seq], of user: String) async throws(TraylogError) -> [Item] {
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
    // swift-format-ignore: NoLeadingUnderscores
    /// Performs a user's action in an ``InboxFetcher``.
    ///
    /// - Throws: as ``perform(_:)-(Command)``.
    public func _perform(_ action: Command.Action, of user: String) async throws(TraylogError) -> Receipt {
        try await perform(Command(user: user, action))
    }
}
