import TraylogDomain
import class TraylogPlatform.Monitor

/// One user's inbox as an app shows it: loaded page by page, refreshed from the top, marked in place.
///
/// ```swift
/// let fetcher = try InboxFetcher(store, user: "ann")
/// try await fetcher.fetchNew()
/// while !fetcher.endReached { try await fetcher.fetchNextPage() }
/// ```
///
/// Safe to use from any thread and task. Fetches and marks of one fetcher happen one after the other, in the order of
/// their calls; ``items`` can be read meanwhile. It keeps the store, and does not look at it by itself: a
/// ``TrayUpdates`` tells when there is something to fetch.
///
/// With a ``Store`` items can be marked through it, with a ``StoreReader`` only fetched.
public final class InboxFetcher<Source: TrayQueries>: Sendable {
    public let user: String
    public let pageSize: Int
    /// How many items are loaded at most; 0 for any number.
    public let limit: Int
    public let filtersSilent: Bool
    let source: Source
    let turn = Turn()
    private let state: Monitor<State>

    private struct State {
        var fetched: FetchedItems
        /// Marks that the store does not have yet, oldest first.
        var pending: [(id: UInt64, mark: PendingMark)] = []
        var lastID: UInt64 = 0
    }

    /// - Parameters:
    ///   - pageSize: 1…``Limits/pageItems``.
    ///   - limit: how many items are loaded at most; 0 for any number.
    ///   - filtersSilent: whether silent items are left out.
    /// - Throws: ``TraylogError/refused(_:)`` when the page size or the limit cannot be.
    public init(
        _ source: Source, user: String, pageSize: Int = Limits.defaultPageItems, limit: Int = 200,
        filtersSilent: Bool = true
    ) throws(TraylogError) {
        guard (1...Limits.pageItems).contains(pageSize) else {
            throw .refused(
                .invalid(field: "pageSize", reason: "must be 1 to \(Limits.pageItems), not \(pageSize)"))
        }
        guard limit >= 0 else {
            throw .refused(.invalid(field: "limit", reason: "must be 0 (for none) or more, not \(limit)"))
        }
        self.source = source
        self.user = user
        self.pageSize = pageSize
        self.limit = limit
        self.filtersSilent = filtersSilent
        state = Monitor(State(fetched: FetchedItems(limit: limit == 0 ? .max : limit)))
    }

    /// What is loaded, newest position first, with every mark made through this fetcher.
    public var items: [Item] {
        let (items, pending) = state.withLock { ($0.fetched.items, $0.pending.map(\.mark)) }
        return pending.reduce(into: items) { $1.apply(to: &$0) }
    }

    /// Whether there is no next page: the inbox is loaded to its oldest item, or as far as the limit allows.
    ///
    /// It becomes false again when items below the limit go (marked as deleted, say) and there are older ones.
    public var endReached: Bool { state.withLock(\.fetched.endReached) }

    // MARK: Fetching

    /// Loads the newest page; with items loaded, refreshes them from the top.
    ///
    /// Loaded items below the newest page stay as they are. In its range they become what they are now: edits and marks
    /// made elsewhere show, woken items move to the top, and what left the inbox disappears. When more is new than a
    /// page, everything loaded is dropped, and the result says ``FetchResult/gap``.
    @discardableResult
    public func fetchNew() async throws(TraylogError) -> FetchResult {
        await turn.take()
        defer { turn.give() }
        return try await source.queries.pool.run { () throws(TraylogError) in try self.loadNewest() }
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func fetchNew() throws(TraylogError) -> FetchResult {
        turn.takeBlocking()
        defer { turn.give() }
        return try loadNewest()
    }

    /// Loads the next older page; with nothing loaded, the newest one.
    ///
    /// - Throws: ``FetchError/endReached`` when ``endReached`` is true.
    @discardableResult
    public func fetchNextPage() async throws(FetchError) -> FetchResult {
        await turn.take()
        defer { turn.give() }
        let result: Result<FetchResult, FetchError>
        do {
            result = try await source.queries.pool.run { Result { () throws(FetchError) in try self.loadNext() } }
        } catch {
            throw .store(error)
        }
        return try result.get()
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func fetchNextPage() throws(FetchError) -> FetchResult {
        turn.takeBlocking()
        defer { turn.give() }
        return try loadNext()
    }

    private func loadNewest() throws(TraylogError) -> FetchResult {
        let fetched = state.withLock(\.fetched)
        let page = try source.inbox(of: user, query(limit: min(pageSize, fetched.limit)))
        var hasGap = false
        if let shownUpTo = fetched.shownUpTo, fetched.mayHaveGap(below: page) {
            // Exactly a page may be new: then the next item is a known one.
            let below = try source.inbox(of: user, query(limit: 1, cursor: page.next)).items.first
            hasGap = below.map { $0.position > shownUpTo } ?? false
        }
        return state.withLock { $0.fetched.refresh(with: page, hasGap: hasGap) }
    }

    private func loadNext() throws(FetchError) -> FetchResult {
        let fetched = state.withLock(\.fetched)
        guard !fetched.endReached else { throw .endReached }
        do throws(TraylogError) {
            guard fetched.shownUpTo != nil else { return try loadNewest() }
            let page = try source.inbox(of: user, query(limit: min(pageSize, fetched.room), cursor: fetched.next))
            return state.withLock { $0.fetched.append(page) }
        } catch {
            throw .store(error)
        }
    }

    private func query(limit: Int, cursor: Cursor? = nil) -> InboxQuery {
        InboxQuery(includeSilent: !filtersSilent, limit: limit, cursor: cursor)
    }

    // MARK: Marks in flight

    /// The position up to which everything was shown; nil when nothing is loaded.
    var shownUpTo: Seq? { state.withLock(\.fetched.shownUpTo) }

    /// Shows a mark from now on.
    func begin(_ mark: PendingMark) -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.pending.append((state.lastID, mark))
            return state.lastID
        }
    }

    /// Makes a mark part of the items, or takes it back.
    func settle(_ id: UInt64, isStored: Bool) {
        state.withLock { state in
            guard let index = state.pending.firstIndex(where: { $0.id == id }) else { return }
            let (_, mark) = state.pending.remove(at: index)
            if isStored { state.fetched.apply(mark) }
        }
    }
}
