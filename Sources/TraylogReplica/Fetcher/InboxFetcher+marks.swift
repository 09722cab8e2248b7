import TraylogDomain

// A mark shows in the fetcher's items at once. If it is refused or fails, it is taken back and the error is thrown.

extension InboxFetcher where Source: MarkableInbox {
    /// Marks one item: as read, unread, seen, archived, deleted, or takes one of the last two back.
    ///
    /// A read item is also seen. An archived or deleted one leaves ``items`` of the inbox.
    ///
    /// ```swift
    /// try await fetcher.mark(.archived, item)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `unknownItem`; failed.
    @discardableResult
    public func mark(_ mark: Mark, _ item: Item) async throws(TraylogError) -> Source.Marked {
        try await perform(.one(mark, item.seq))
    }

    /// Marks everything as read that was in the inbox at the last ``fetchNew()``, loaded or not; with a thread or a category in
    /// its query, everything of those.
    ///
    /// Items that arrived later stay unread, because nobody has seen them.
    ///
    /// ```swift
    /// try await fetcher.markAllAsRead()
    /// ```
    ///
    /// - Returns: nil before the first fetch: then nothing is marked. Of several categories, each is a mark of its own, and the last
    ///   one's answer is returned.
    /// - Throws: ``TraylogError``: refused `invalid` where the query asks for an actor, a level, times or a text, by which no bulk
    ///   mark goes: mark the items of ``items``; failed.
    @discardableResult
    public func markAllAsRead() async throws(TraylogError) -> Source.Marked? {
        if let searched = query.filter.searched { throw .refused(.markedByThread(searched)) }
        guard let shownUpTo else { return nil }
        var marked: Source.Marked?
        let (thread, categories) = (query.filter.thread, query.filter.categories)
        for category in categories.isEmpty ? [nil] : categories.map(Optional.some) {
            marked = try await perform(.allRead(ItemFilter(thread: thread, category: category), upTo: shownUpTo))
        }
        return marked
    }

    private func perform(_ mark: PendingMark) async throws(TraylogError) -> Source.Marked {
        let id = begin(mark)
        // A page that was read before the mark must not be merged after it.
        await lock.acquire()
        defer { lock.release() }
        do throws(TraylogError) {
            let marked = try await source.perform(mark.action, of: user)
            settle(id, isStored: true)
            return marked
        } catch {
            settle(id, isStored: false)
            throw error
        }
    }
}

/// A mark made through a fetcher.
///
/// The items show it before the source has it.
package enum PendingMark: Hashable, Sendable {
    case one(Mark, Seq)
    /// Every loaded item that a bulk mark covers.
    case allRead(ItemFilter, upTo: Seq)

    var action: Command.Action {
        switch self {
        case .one(let mark, let item): .mark(mark, [.seq(item)])
        case .allRead(let filter, let upTo): .markAll(.read, filter, upTo: upTo)
        }
    }

    /// Shows the mark in a list; the source shows the same with the next fetch.
    func apply(to items: inout [Item]) {
        switch self {
        case .allRead(_, let upTo):
            for index in items.indices where items[index].position <= upTo {
                (items[index].isRead, items[index].isSeen) = (true, true)
            }
        case .one(let mark, let seq):
            guard let index = items.firstIndex(where: { $0.seq == seq }) else { return }
            switch mark {
            case .seen: items[index].isSeen = true
            case .read: (items[index].isRead, items[index].isSeen) = (true, true)
            case .unread: items[index].isRead = false
            // These leave the list: it has what is archived, or what is not.
            case .archived, .unarchived, .deleted: items.remove(at: index)
            case .restored: break
            }
        }
    }
}
