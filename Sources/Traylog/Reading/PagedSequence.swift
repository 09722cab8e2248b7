import TraylogDomain
import TraylogQueries

/// All results of a query, read page by page during the iteration.
///
/// Nothing is kept, and each iteration repeats the query.
struct PagedSequence<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = TraylogError

    let page: @Sendable (PageCursor?) async throws(TraylogError) -> (elements: [Element], next: PageCursor?)

    /// Starts an iteration, for one task.
    func makeAsyncIterator() -> Iterator { Iterator(page: page) }

    /// Iterates over the elements; for one task.
    struct Iterator: AsyncIteratorProtocol {
        let page: @Sendable (PageCursor?) async throws(TraylogError) -> (elements: [Element], next: PageCursor?)
        private var read: ArraySlice<Element> = []
        private var cursor: PageCursor?
        private var isAtEnd = false

        init(page: @escaping @Sendable (PageCursor?) async throws(TraylogError) -> ([Element], PageCursor?)) {
            self.page = page
        }

        /// The next element; nil after the last.
        ///
        /// - Throws: ``TraylogError``: the query's errors; failed, `cancelled`, when the task was cancelled before the end.
        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Element? {
            while true {
                if read.isEmpty, isAtEnd { return nil }
                guard !Task.isCancelled else {
                    throw .failed(
                        StoreFailure(
                            code: .cancelled,
                            message:
                                "the task was cancelled before the end: what it has read is only a part; begin again"))
                }
                if let element = read.popFirst() { return element }
                let (elements, next) = try await page(cursor)
                (read, cursor, isAtEnd) = (elements[...], next, next == nil)
            }
        }
    }
}

/// Where a sequence of pages goes on.
struct PageCursor: Sendable {
    var seq: Seq?
    var name: String?
    /// The head when the sequence began, so that it ends beside a busy writer.
    var head = Seq.zero
}

extension StoreLog {
    /// All events that match a filter, through the head at the start.
    ///
    /// ```swift
    /// var filter = EventFilter()
    /// filter.user = "ann"
    /// for try await event in store.log.allEvents(matching: filter) { print(event.json) }
    /// print("all of them")  // not reached when the task was cancelled
    /// ```
    ///
    /// It ends with nil only after the last event: if the task is cancelled earlier, it throws ``TraylogError/failed(_:)`` with
    /// `cancelled`, so that nobody mistakes a part for the whole. Each iteration repeats the query.
    ///
    /// - Parameters:
    ///   - filter: the events to find.
    ///   - newestFirst: goes from the end to the beginning.
    ///   - archives: read as well, as if nothing had left the log.
    /// - Complexity: as ``events(matching:newestFirst:from:limit:including:)``; one page is in memory.
    public func allEvents(
        matching filter: EventFilter = EventFilter(), newestFirst: Bool = false, including archives: Archives? = nil
    ) -> some AsyncSequence<Event, TraylogError> & Sendable {
        PagedSequence { cursor async throws(TraylogError) in
            let head = if let cursor { cursor.head } else { try await self.head() }
            let page = try await self.events(
                matching: filter, newestFirst: newestFirst, from: cursor?.seq ?? (newestFirst ? head : 1), limit: 256,
                including: archives)
            let events = page.elements.filter { $0.seq <= head }
            guard let next = page.next, next <= head else { return (events, nil) }
            return (events, PageCursor(seq: next, head: head))
        }
    }
}

extension TrayQueries {
    /// The names of all users that begin with a prefix, in byte order.
    ///
    /// ```swift
    /// for try await user in store.allUsers(prefix: "team/") { print(user) }
    /// ```
    ///
    /// It throws when it is cancelled before the end, as ``StoreLog/allEvents(matching:newestFirst:including:)`` does.
    ///
    /// - Parameters:
    ///   - prefix: bytes of UTF-8 that a name begins with.
    ///   - asOf: only those who had an event by then.
    /// - Complexity: O(names); one page is in memory.
    public func allUsers(prefix: String = "", asOf: Moment? = nil) -> some AsyncSequence<String, TraylogError>
        & Sendable
    {
        PagedSequence { cursor async throws(TraylogError) in
            let page = try await self.users(after: cursor?.name, prefix: prefix, asOf: asOf)
            return (page.elements, page.next.map { PageCursor(name: $0) })
        }
    }
}
