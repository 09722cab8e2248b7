import TraylogDomain
import TraylogQueries
import TraylogStates

/// Some of the events that a search found.
public struct EventPage: Hashable, Sendable {
    /// In the order of the search.
    public var events: [Event]
    /// The first event that was not looked at, where the search goes on; nil at its end.
    public var next: Seq?

    /// Makes one of its parts.
    public init(events: [Event], next: Seq?) {
        self.events = events
        self.next = next
    }
}

extension BlockingQueries {
    /// Events that match a filter, in one scan of the log.
    ///
    /// ```swift
    /// var filter = EventFilter()
    /// filter.device = "phone"
    /// var page = try store.search(filter, newestFirst: true, limit: 50)
    /// while let next = page.next { page = try store.search(filter, newestFirst: true, from: next, limit: 50) }
    /// ```
    ///
    /// - Parameters:
    ///   - filter: what is looked for.
    ///   - newestFirst: goes from the end to the beginning.
    ///   - from: where to begin: ``EventPage/next`` of the page before; nil for the oldest event, or the newest one.
    ///   - limit: the greatest number of events, 1 to 10,000.
    ///   - archives: are searched, too, as if nothing had left the log.
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(events in the range of the filter's times); with a user, of that user's own events.
    public func search(
        _ filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) throws(TraylogError) -> EventPage {
        guard (1...10_000).contains(limit) else {
            throw .refused(.invalid(field: "limit", reason: "must be 1 to 10000, not \(limit)"))
        }
        var range = try queries.answer { try $0.range(of: filter) }
        if let from {
            if newestFirst {
                range.last = min(range.last, from.rawValue)
            } else {
                range.first = max(range.first, from.rawValue)
            }
        }
        var scan = EventScan(
            queries: queries, archives: archives, user: filter.user, range: range, newestFirst: newestFirst)
        var page = EventPage(events: [], next: nil)
        while let part = try scan.next() {
            for event in part where filter.matches(event) {
                guard page.events.count < limit else {
                    page.next = event.seq
                    return page
                }
                page.events.append(event)
            }
        }
        return page
    }
}

extension TrayQueries {
    /// The same, while the task waits.
    public func search(
        _ filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) async throws(TraylogError) -> EventPage {
        try await asking { store throws(TraylogError) in
            try store.search(filter, newestFirst: newestFirst, from: from, limit: limit, including: archives)
        }
    }
}

/// A range of events, in one direction, in parts that are read in snapshots of their own.
private struct EventScan {
    /// Seqs that one part spans.
    private static let window: UInt64 = 1_000

    let queries: Queries
    let archives: Archives?
    let user: String?
    /// The part of the log that the search has not read yet.
    var range: (first: UInt64, last: UInt64)
    let newestFirst: Bool

    init(queries: Queries, archives: Archives?, user: String?, range: (first: UInt64, last: UInt64), newestFirst: Bool)
    {
        self.queries = queries
        self.archives = archives
        self.user = user
        self.range = range
        self.newestFirst = newestFirst
    }

    /// The events of the next part, in order; nil at the end.
    mutating func next() throws(TraylogError) -> [Event]? {
        guard range.first <= range.last else { return nil }
        var part = range
        if newestFirst {
            part.first = try start(endingWith: range.last)
            range.last = part.first - 1
        } else {
            part.last = try end(beginningWith: range.first)
            range.first = part.last + 1
        }
        let events = try read(part.first, part.last)
        return newestFirst ? events.reversed() : events
    }

    /// The last seq of a part. Of a user without archives it spans a window of the user's own events.
    private func end(beginningWith first: UInt64) throws(TraylogError) -> UInt64 {
        guard let user, archives == nil else { return min(range.last, first + Self.window - 1) }
        let last = range.last
        return try queries.answer(.now, of: user) { now in
            let seqs = try now.state.events(from: first, through: last, limit: Int(Self.window), stored: now.pages)
            return seqs.count == Int(Self.window) ? seqs[seqs.count - 1] : last
        }
    }

    private func start(endingWith last: UInt64) throws(TraylogError) -> UInt64 {
        guard let user, archives == nil else {
            return max(range.first, last >= Self.window ? last - Self.window + 1 : 1)
        }
        let first = range.first
        return try queries.answer(.now, of: user) { now in
            let seqs = try now.state.events(from: first, through: last, stored: now.pages)
            return seqs.count > Int(Self.window) ? seqs[seqs.count - Int(Self.window)] : first
        }
    }

    private func read(_ first: UInt64, _ last: UInt64) throws(TraylogError) -> [Event] {
        if let archives {
            var log = try MergedLog(queries, archives, of: user, from: first, through: last)
            return try log.events(limit: .max)
        }
        if let user {
            return try queries.answer(.now, of: user) { now in
                try now.events(from: first, through: last, limit: .max).events
            }
        }
        return try queries.answer { try $0.events(from: first, through: last, limit: .max).events }
    }
}

extension StoreSnapshot {
    /// The events that can be of the filter's times. Those below the floor may be in archives, whatever their times.
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
