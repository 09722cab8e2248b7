import TraylogDomain

// A mark shows in the fetcher's items at once. If the store refuses it or fails, the mark is taken back and the error is
// thrown.

extension InboxFetcher where Source == Store {
    /// Marks one item as read and seen.
    @discardableResult
    public func markAsRead(_ item: Item) async throws(TraylogError) -> Receipt {
        try await perform(.read(item.seq))
    }

    /// Marks one item as read and seen, blocking the thread. Tasks use the asynchronous form.
    @discardableResult
    package func markAsRead(_ item: Item) throws(TraylogError) -> Receipt {
        try perform(.read(item.seq))
    }

    /// Marks everything as read that was in the inbox at the last ``fetchNew()``, loaded or not.
    ///
    /// Items that arrived later stay unread, because nobody has seen them. Before the first fetch nothing is marked.
    @discardableResult
    public func markAllAsRead() async throws(TraylogError) -> Receipt {
        guard let shownUpTo else { return .unchanged }
        return try await perform(.allRead(upTo: shownUpTo))
    }

    /// Marks everything as read that was in the inbox at the last ``fetchNew()``, blocking the thread. Tasks use the
    /// asynchronous form.
    @discardableResult
    package func markAllAsRead() throws(TraylogError) -> Receipt {
        guard let shownUpTo else { return .unchanged }
        return try perform(.allRead(upTo: shownUpTo))
    }

    /// Marks one item as deleted, which removes it from ``items``.
    @discardableResult
    public func markAsDeleted(_ item: Item) async throws(TraylogError) -> Receipt {
        try await perform(.deleted(item.seq))
    }

    /// Marks one item as deleted, blocking the thread. Tasks use the asynchronous form.
    @discardableResult
    package func markAsDeleted(_ item: Item) throws(TraylogError) -> Receipt {
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

/// A mark made through a fetcher. The items show it before the store has it.
enum PendingMark: Hashable, Sendable {
    case read(Seq)
    /// Every item at or below the position.
    case allRead(upTo: Seq)
    case deleted(Seq)

    func command(of user: String) -> Command {
        switch self {
        case .read(let item): Command(user: user, .mark(.read, [.seq(item)]))
        case .allRead(let position): Command(user: user, .markAll(.read, Selection(upTo: position)))
        case .deleted(let item): Command(user: user, .mark(.deleted, [.seq(item)]))
        }
    }

    func apply(to items: inout [Item]) {
        switch self {
        case .read(let item): Self.read(&items) { $0.seq == item }
        case .allRead(let position): Self.read(&items) { $0.position <= position }
        case .deleted(let item): items.removeAll { $0.seq == item }
        }
    }

    /// Marks items as read, and so as seen.
    private static func read(_ items: inout [Item], where isMeant: (Item) -> Bool) {
        for index in items.indices where isMeant(items[index]) {
            items[index].isRead = true
            items[index].isSeen = true
        }
    }
}
