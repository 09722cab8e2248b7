import TraylogDomain
@_spi(Replication) import TraylogReplica

extension TrayClient: MarkableInbox {
    /// The inbox for a list on a screen, with the rules of the library's fetcher.
    ///
    /// The user's marks, through it or otherwise, and the server's refusals show after ``InboxFetcher/update()``; ``trays``
    /// says when something has changed.
    ///
    /// ```swift
    /// let list = try client.fetcher()
    /// try await list.fetchNew()
    /// ```
    ///
    /// - Parameters:
    ///   - pageSize: 1…``Limits/pageItems``.
    ///   - limit: the maximum number of items to keep; 0 for no limit.
    ///   - query: its view and filters.
    /// - Throws: ``TraylogError/refused(_:)`` when the page size or the limit is out of range.
    public nonisolated func fetcher(
        pageSize: Int = 20, limit: Int = 200,
        query: InboxQuery = InboxQuery()
    ) throws(TraylogError) -> InboxFetcher<TrayClient> {
        try InboxFetcher(
            self, of: user, pageSize: pageSize, limit: limit, query: query)
    }

    /// One page of the shown inbox, for a fetcher.
    @_spi(Replication) public func page(
        of user: String, _ query: InboxQuery
    ) async throws(TraylogError) -> Page<Item, Cursor> {
        do {
            return try await inbox(query)
        } catch let refusal as Refusal {
            throw .refused(refusal)
        } catch {
            throw .failed(StoreFailure(error))
        }
    }

    /// Items as they are shown, for a fetcher.
    @_spi(Replication) public func items(_ seqs: [Seq], of user: String) throws(TraylogError) -> [Item] {
        seqs.compactMap { try? item(.seq($0)) }
    }

    /// Queues a user's action in a fetcher.
    @_spi(Replication) public func perform(
        _ action: Command.Action, of user: String
    ) throws(TraylogError) -> OutboxEntry {
        do throws(TrayClientRefusal) {
            if case .markAll(let mark, let filter, let upTo) = action {
                return try markAll(mark, filter, upTo: upTo)
            }
            return try perform(action)
        } catch {
            if case .refused(let refusal) = error { throw .refused(refusal) }
            throw .failed(StoreFailure(error))
        }
    }
}

extension StoreFailure {
    /// The device's storage failed, or its outbox accepts nothing at present.
    fileprivate init(_ error: any Error) {
        let failure: DeviceFailure? =
            if case .outbox(.storage(let failure))? = error as? TrayClientRefusal { failure } else {
                error as? DeviceFailure
            }
        let code: Code =
            switch failure?.code {
            case .diskFull: .diskFull
            case .permissionDenied: .permissionDenied
            case .damaged: .damaged
            case .closed: .closed
            default: .inputOutput
            }
        self.init(code: code, message: "\(error)")
    }
}
