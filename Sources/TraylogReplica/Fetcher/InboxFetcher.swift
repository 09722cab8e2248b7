import Synchronization
import TraylogDomain
import TraylogJSON

/// One user's inbox for an app: loaded page by page, refreshed from the top, marked in place.
///
/// ```swift
/// let fetcher = try InboxFetcher(store, of: "ann")
/// try await fetcher.fetchNew()
/// while !fetcher.endReached { try await fetcher.fetchNextPage() }
/// ```
///
/// Safe to use from any thread and task. Fetches and marks of one fetcher happen one after the other, in the order of
/// their calls; ``items`` can be read meanwhile, and ``updates`` tells how they change. The fetcher keeps its source alive, and
/// fetches only when it is told to: an observation of the tray says when there is something new.
///
/// A fetcher of a store or of a device's client can mark items; one of a reader only fetches.
public final class InboxFetcher<Source: InboxSource>: Sendable {
    /// Whose inbox it fetches.
    package let user: String
    /// Items in a page.
    package let pageSize: Int
    /// The maximum number of items to keep; 0 for no limit.
    package let limit: Int
    /// Which items are fetched.
    package let query: InboxQuery
    let source: Source
    package let lock = AsyncLock()
    private let state: Mutex<State>

    private struct State {
        var fetched: FetchedItems
        /// Marks that the source does not have yet, oldest first.
        var pending: [(id: UInt64, mark: PendingMark)] = []
        var lastID: UInt64 = 0
        var listeners: [UInt64: AsyncStream<[Item]>.Continuation] = [:]
        var told: [Item] = []

        /// As loaded, with the marks that are under way.
        var items: [Item] { pending.reduce(into: fetched.items) { $1.mark.apply(to: &$0) } }
    }

    /// Makes a fetcher without items.
    ///
    /// - Parameters:
    ///   - source: the store, reader or client that is asked.
    ///   - user: whose tray it is.
    ///   - pageSize: 1…``Limits/pageItems``.
    ///   - limit: the maximum number of items to keep; 0 for no limit.
    ///   - query: its view and filters; silent items are left out unless it asks for them. Its page is not used.
    /// - Throws: ``TraylogError/refused(_:)`` when the page size or the limit is out of range.
    public init(
        _ source: Source, of user: String, pageSize: Int = 20, limit: Int = 200,
        query: InboxQuery = InboxQuery()
    ) throws(TraylogError) {
        guard (1...Limits.pageItems).contains(pageSize) else {
            throw .refused(
                .invalid(field: "pageSize", reason: "must be 1 to \(Limits.pageItems), not \(pageSize)"))
        }
        guard limit >= 0 else {
            throw .refused(.invalid(field: "limit", reason: "must be 0 (for none) or more, not \(limit)"))
        }
        (self.source, self.user, self.pageSize, self.limit, self.query) = (source, user, pageSize, limit, query)
        state = Mutex(State(fetched: FetchedItems(limit: limit == 0 ? .max : limit)))
    }

    deinit {
        state.withLock { state in
            for listener in state.listeners.values { listener.finish() }
        }
    }

    /// The loaded items, newest position first, with every mark made through this fetcher.
    public var items: [Item] { state.withLock(\.items) }

    /// Whether there is no next page: the oldest item is loaded, or the limit is reached.
    ///
    /// It becomes false again when items leave below the limit, for example by being deleted, and there are older ones.
    public var endReached: Bool { state.withLock(\.fetched.endReached) }

    /// The loaded items now, then after each change; a slow reader gets the newest.
    ///
    /// It ends with the fetcher.
    public var updates: AsyncStream<[Item]> {
        let (stream, listener) = AsyncStream.makeStream(of: [Item].self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastID += 1
            state.listeners[state.lastID] = listener
            listener.yield(state.items)
            return state.lastID
        }
        listener.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    // MARK: Fetching

    /// Loads the newest page, and merges it into the loaded items.
    ///
    /// Items below the newest page stay as they are. In its range they are brought up to date: edits and marks made
    /// elsewhere show, woken items move to the top, and items that left the inbox disappear. When more items are new than
    /// fit a page, all loaded items are dropped, and the result has ``FetchResult/hasGap``.
    ///
    /// ```swift
    /// if try await fetcher.fetchNew().hasGap { print("scroll to the top") }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    @discardableResult
    public func fetchNew() async throws(TraylogError) -> FetchResult {
        await lock.acquire()
        defer { lock.release() }
        return try await loadNewest()
    }

    /// Loads the next older page or, when nothing is loaded, the newest one.
    ///
    /// A page of a search may be empty though older items match: it looks at 10,000 at most.
    ///
    /// ```swift
    /// if !fetcher.endReached { try await fetcher.fetchNextPage() }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `endReached` when ``endReached`` is true; failed.
    @discardableResult
    public func fetchNextPage() async throws(TraylogError) -> FetchResult {
        await lock.acquire()
        defer { lock.release() }
        let fetched = state.withLock(\.fetched)
        guard !fetched.endReached else { throw .refused(.endReached) }
        guard fetched.shownUpTo != nil else { return try await loadNewest() }
        let page = try await page(limit: min(pageSize, fetched.room), fetched.next)
        return change { $0.fetched.append(page) }
    }

    /// Brings all loaded items up to date where they are, and fetches no others: marks and edits made elsewhere show, and
    /// items that left the inbox disappear.
    ///
    /// ```swift
    /// for try await _ in store.trayUpdates(of: "ann") { try await fetcher.update() }
    /// ```
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    public func update() async throws(TraylogError) {
        await lock.acquire()
        defer { lock.release() }
        let view = query.view
        let items = try await source.items(state.withLock { $0.fetched.items.map(\.seq) }, of: user)
        change { $0.fetched.update(to: items.filter { $0.isListed(in: view) }) }
    }

    private func loadNewest() async throws(TraylogError) -> FetchResult {
        let fetched = state.withLock(\.fetched)
        let page = try await page(limit: min(pageSize, fetched.limit), nil)
        var hasGap = false
        if let shownUpTo = fetched.shownUpTo, fetched.mayHaveGap(below: page) {
            // Exactly a page may be new. Then the next item is a known one. A search may take several pages to find it.
            var rest = page
            repeat {
                rest = try await self.page(limit: 1, rest.next)
                hasGap = rest.elements.first.map { $0.position > shownUpTo } ?? false
            } while rest.elements.isEmpty && rest.next.map { $0.before > shownUpTo } ?? false
        }
        return change { $0.fetched.refresh(with: page, hasGap: hasGap) }
    }

    private func page(limit: Int, _ cursor: Cursor?) async throws(TraylogError) -> Page<Item, Cursor> {
        var query = query
        (query.limit, query.cursor) = (limit, cursor)
        return try await source.page(of: user, query)
    }

    /// Changes what is loaded, and reports it.
    private func change<Answer>(_ body: (inout State) -> Answer) -> Answer {
        state.withLock { state in
            let answer = body(&state)
            guard !state.listeners.isEmpty else { return answer }
            let items = state.items
            guard items != state.told else { return answer }
            state.told = items
            // Inside of the lock, so that nobody gets an older state after a newer one.
            for listener in state.listeners.values { listener.yield(items) }
            return answer
        }
    }

    // MARK: Marks in flight

    /// The position up to which everything was loaded; nil before the first fetch.
    var shownUpTo: Seq? { state.withLock(\.fetched.shownUpTo) }

    /// Shows a mark from now on.
    func begin(_ mark: PendingMark) -> UInt64 {
        change { state in
            state.lastID += 1
            state.pending.append((state.lastID, mark))
            return state.lastID
        }
    }

    /// Confirms a mark, or takes it back.
    func settle(_ id: UInt64, isStored: Bool) {
        change { state in
            guard let index = state.pending.firstIndex(where: { $0.id == id }) else { return }
            let (_, mark) = state.pending.remove(at: index)
            if isStored { state.fetched.apply(mark) }
        }
    }
}

/// The result of a fetch.
public struct FetchResult: Hashable, Sendable, Codable {
    /// The items that the fetcher did not have before, newest position first.
    public var new: [Item]
    /// More items were new than fit a page.
    ///
    /// The earlier items were dropped; only the newest page is loaded.
    public var hasGap: Bool
    /// ``InboxFetcher/endReached`` after the fetch.
    package var endReached: Bool

    /// The result of a fetch.
    package init(new: [Item], hasGap: Bool, endReached: Bool) {
        self.new = new
        self.hasGap = hasGap
        self.endReached = endReached
    }
}
