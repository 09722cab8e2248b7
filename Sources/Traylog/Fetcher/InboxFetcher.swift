import TraylogDomain
import TraylogPlatform
import class TraylogPlatform.Monitor

/// One user's inbox for an app: loaded page by page, refreshed from the top, marked in place.
///
/// ```swift
/// let fetcher = try InboxFetcher(store, user: "ann")
/// try await fetcher.fetchNew()
/// while !fetcher.endReached { try await fetcher.fetchNextPage() }
/// ```
///
/// Safe to use from any thread and task. Fetches and marks of one fetcher happen one after the other, in the order of
/// their calls; ``items`` can be read meanwhile. The fetcher keeps the store alive, and fetches only when it is told to: a
/// ``TrayUpdates`` says when there is something new.
///
/// A fetcher of a ``Store`` can mark items; one of a ``StoreReader`` only fetches.
public final class InboxFetcher<Source: TrayQueries>: Sendable {
    /// Whose inbox it fetches.
    public let user: String
    /// Items in a page.
    public let pageSize: Int
    /// The maximum number of items to keep; 0 for no limit.
    public let limit: Int
    /// Whether silent items are left out.
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

    /// Makes a fetcher without items.
    ///
    /// - Parameters:
    ///   - source: the store or reader that is asked.
    ///   - user: whose tray it is.
    ///   - pageSize: 1…``Limits/pageItems``.
    ///   - limit: the maximum number of items to keep; 0 for no limit.
    ///   - filtersSilent: leaves out silent items.
    /// - Throws: ``TraylogError/refused(_:)`` when the page size or the limit is out of range.
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

    /// The loaded items, newest position first, with every mark made through this fetcher.
    public var items: [Item] {
        let (items, pending) = state.withLock { ($0.fetched.items, $0.pending.map(\.mark)) }
        return pending.reduce(into: items) { $1.apply(to: &$0) }
    }

    /// Whether there is no next page: the oldest item is loaded, or the limit is reached.
    ///
    /// It becomes false again when items leave below the limit, for example by being deleted, and there are older ones.
    public var endReached: Bool { state.withLock(\.fetched.endReached) }

    // MARK: Fetching

    /// Loads the newest page, and merges it into the loaded items.
    ///
    /// Items below the newest page stay as they are. In its range they are brought up to date: edits and marks made
    /// elsewhere show, woken items move to the top, and items that left the inbox disappear. When more items are new than
    /// fit a page, all loaded items are dropped, and the result has ``FetchResult/hasGap``.
    @discardableResult
    public func fetchNew() async throws(TraylogError) -> FetchResult {
        await turn.take()
        defer { turn.give() }
        return try await source.queries.pool.run { () throws(TraylogError) in try self.loadNewest() }
    }

    /// Loads the newest page, blocking the thread. Tasks use the asynchronous form.
    @discardableResult
    package func fetchNew() throws(TraylogError) -> FetchResult {
        turn.takeBlocking()
        defer { turn.give() }
        return try loadNewest()
    }

    /// Loads the next older page or, when nothing is loaded, the newest one.
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

    /// Loads the next older page, blocking the thread. Tasks use the asynchronous form.
    @discardableResult
    package func fetchNextPage() throws(FetchError) -> FetchResult {
        turn.takeBlocking()
        defer { turn.give() }
        return try loadNext()
    }

    private func loadNewest() throws(TraylogError) -> FetchResult {
        let fetched = state.withLock(\.fetched)
        let page = try source.view.inbox(of: user, query(limit: min(pageSize, fetched.limit)))
        var hasGap = false
        if let shownUpTo = fetched.shownUpTo, fetched.mayHaveGap(below: page) {
            // Exactly a page may be new. Then the next item is a known one.
            let below = try source.view.inbox(of: user, query(limit: 1, cursor: page.next)).items.first
            hasGap = below.map { $0.position > shownUpTo } ?? false
        }
        return state.withLock { $0.fetched.refresh(with: page, hasGap: hasGap) }
    }

    private func loadNext() throws(FetchError) -> FetchResult {
        let fetched = state.withLock(\.fetched)
        guard !fetched.endReached else { throw .endReached }
        do throws(TraylogError) {
            guard fetched.shownUpTo != nil else { return try loadNewest() }
            let page = try source.view.inbox(of: user, query(limit: min(pageSize, fetched.room), cursor: fetched.next))
            return state.withLock { $0.fetched.append(page) }
        } catch {
            throw .store(error)
        }
    }

    private func query(limit: Int, cursor: Cursor? = nil) -> InboxQuery {
        InboxQuery(includeSilent: !filtersSilent, limit: limit, cursor: cursor)
    }

    // MARK: Marks in flight

    /// The position up to which everything was loaded; nil before the first fetch.
    var shownUpTo: Seq? { state.withLock(\.fetched.shownUpTo) }

    /// Shows a mark from now on.
    func begin(_ mark: PendingMark) -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.pending.append((state.lastID, mark))
            return state.lastID
        }
    }

    /// Applies a mark for good, or takes it back.
    func settle(_ id: UInt64, isStored: Bool) {
        state.withLock { state in
            guard let index = state.pending.firstIndex(where: { $0.id == id }) else { return }
            let (_, mark) = state.pending.remove(at: index)
            if isStored { state.fetched.apply(mark) }
        }
    }
}

/// The result of a fetch.
public struct FetchResult: Hashable, Sendable {
    /// The items that the fetcher did not have before, newest position first.
    public var new: [Item]
    /// More items were new than fit a page. The earlier items were dropped; only the newest page is loaded.
    public var hasGap: Bool
    /// ``InboxFetcher/endReached`` after the fetch.
    public var endReached: Bool

    /// Makes one of its parts.
    public init(new: [Item], hasGap: Bool, endReached: Bool) {
        self.new = new
        self.hasGap = hasGap
        self.endReached = endReached
    }
}

/// The reason why a fetcher did not fetch the next page.
public enum FetchError: Error, Hashable, Sendable {
    /// The last page was fetched already, or the fetcher's limit is reached; see ``InboxFetcher/endReached``.
    case endReached
    /// The store could not answer.
    case store(TraylogError)
}

extension FetchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .endReached: "endReached: there is no next page, or the fetcher's limit is reached"
        case .store(let error): error.description
        }
    }
}
