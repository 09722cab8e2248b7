import TraylogDomain

// Every mark shows in the fetcher's items at once. When the store refuses it or fails, the items show again what they
// showed before, and the error is thrown.

extension InboxFetcher where Source == Store {
    /// Marks one item as read, and seen.
    @discardableResult
    public func markAsRead(_ item: Item) async throws(TraylogError) -> Receipt {
        try await perform(.read(item.seq))
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func markAsRead(_ item: Item) throws(TraylogError) -> Receipt {
        try perform(.read(item.seq))
    }

    /// Marks everything as read that was in the inbox when ``fetchNew()`` looked last, loaded or not.
    ///
    /// What arrived since then stays unread: nobody has seen it. With nothing loaded, nothing is marked.
    @discardableResult
    public func markAllAsRead() async throws(TraylogError) -> Receipt {
        guard let shownUpTo else { return .unchanged }
        return try await perform(.allRead(upTo: shownUpTo))
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func markAllAsRead() throws(TraylogError) -> Receipt {
        guard let shownUpTo else { return .unchanged }
        return try perform(.allRead(upTo: shownUpTo))
    }

    /// Marks one item as deleted: it is no longer among ``items``.
    @discardableResult
    public func markAsDeleted(_ item: Item) async throws(TraylogError) -> Receipt {
        try await perform(.deleted(item.seq))
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func markAsDeleted(_ item: Item) throws(TraylogError) -> Receipt {
        try perform(.deleted(item.seq))
    }

    private func perform(_ mark: PendingMark) async throws(TraylogError) -> Receipt {
        let id = begin(mark)
        // A page that was read before the mark must not be merged after it.
        await turn.take()
        defer { turn.give() }
        do throws(TraylogError) {
            let receipt = try await source.perform(mark.command(of: user))
            settle(id, isStored: true)
            return receipt
        } catch {
            settle(id, isStored: false)
            throw error
        }
    }

    private func perform(_ mark: PendingMark) throws(TraylogError) -> Receipt {
        let id = begin(mark)
        turn.takeBlocking()
        defer { turn.give() }
        do throws(TraylogError) {
            let receipt = try source.perform(mark.command(of: user))
            settle(id, isStored: true)
            return receipt
        } catch {
            settle(id, isStored: false)
            throw error
        }
    }
}
