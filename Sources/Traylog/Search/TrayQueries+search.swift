import TraylogDomain
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// Events that match a filter, in one scan of the log.
    ///
    /// ```swift
    /// let filter = EventFilter(device: "phone")
    /// var page = try store.blocking.events(matching: filter, newestFirst: true)
    /// while let next = page.next { page = try store.blocking.events(matching: filter, newestFirst: true, from: next) }
    /// ```
    ///
    /// - Parameters:
    ///   - filter: the events to find.
    ///   - newestFirst: goes from the end to the beginning.
    ///   - from: where to begin: ``Page/next`` of the page before; nil for the oldest event, or the newest one.
    ///   - limit: the greatest number of events, all of which are in memory.
    ///   - archives: searched as well, as if nothing had left the log.
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(events in the range of the filter's times); with a user, of that user's own events.
    @available(*, noasync, message: "use `await store.events`; this call blocks a thread that tasks share")
    public func events(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) throws(TraylogError) -> Page<Event, Seq> {
        guard limit >= 0 else { throw .refused(.invalid(field: "limit", reason: "must be 0 or more, not \(limit)")) }
        var (range, head) = try queries.answer { (try $0.range(of: filter), Seq($0.head)) }
        if let from {
            if newestFirst {
                range.last = min(range.last, from.rawValue)
            } else {
                range.first = max(range.first, from.rawValue)
            }
        }
        var scan = EventScan(
            queries: queries, archives: archives, user: filter.user, range: range, newestFirst: newestFirst,
            window: 1_000)
        var page = Page<Event, Seq>([], asOf: head)
        while let part = try scan.next() {
            for event in part where filter.matches(event) {
                guard page.elements.count < limit else {
                    page.next = event.seq
                    return page
                }
                page.elements.append(event)
            }
        }
        return page
    }
}

extension TrayQueries {
    /// Events that match a filter, in one scan of the log.
    ///
    /// Items are found by ``inbox(of:_:asOf:)``, whose ``ItemFilter/text`` is a search.
    ///
    /// ```swift
    /// let answers = try await store.events(matching: EventFilter(kinds: [.acted]), newestFirst: true)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(events in the range of the filter's times); with a user, of that user's own events.
    public func events(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) async throws(TraylogError) -> Page<Event, Seq> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.events(matching: filter, newestFirst: newestFirst, from: from, limit: limit, including: archives)
        }
    }
}

extension StoreSnapshot {
    /// The events that can be of the filter's times.
    ///
    /// Those below the floor may be in archives, whatever their times.
    fileprivate func range(of filter: EventFilter) throws -> (first: UInt64, last: UInt64) {
        func bound(_ find: () throws -> UInt64, below: UInt64) throws -> UInt64 {
            do { return try find() } catch Refusal.compacted { return below }
        }
        let first = try filter.since.map { since in try bound({ try self.first(of: .time(since)) }, below: 1) } ?? 1
        let last = try filter.until.map { until in
            try bound({ try seq(of: .time(until)) }, below: record.floor.seq.rawValue)
        }
        return (max(first, 1), last ?? head)
    }
}
