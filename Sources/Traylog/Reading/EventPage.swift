import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// Some events of the log.
public struct EventPage: Hashable, Codable, Sendable {
    /// How many a page has where nothing else is asked for.
    public static let defaultLimit = 100

    /// In the order of the query.
    public var events: [Event]
    /// The first seq that was not looked at, where the query goes on; nil at its end.
    ///
    /// The last page may be empty.
    public var next: Seq?

    /// A page as a query answers it, for tests and previews; `next` is nil at the end.
    public init(events: [Event], next: Seq?) {
        self.events = events
        self.next = next
    }
}

/// Some names of users.
public struct UserPage: Hashable, Codable, Sendable {
    /// How many a page has where nothing else is asked for.
    public static let defaultLimit = 1_000

    /// In byte order.
    public var users: [String]
    /// The name after which the query goes on; nil at its end.
    ///
    /// The last page may be empty.
    public var next: String?

    /// A page as a query answers it, for tests and previews; `next` is nil at the end.
    public init(users: [String], next: String?) {
        self.users = users
        self.next = next
    }
}

extension BlockingQueries {
    /// - Parameter user: whose own events; nil for all.
    func page(
        of user: String?, _ newestFirst: Bool, _ from: Seq?, _ limit: Int, _ asOf: Moment?, _ archives: Archives?
    ) throws(TraylogError) -> EventPage {
        guard limit >= 0 else { throw .refused(.invalid(field: "limit", reason: "must be 0 or more, not \(limit)")) }
        guard limit > 0 else { return EventPage(events: [], next: from) }
        var events: [Event] = []
        if newestFirst {
            let end = try end(asOf)
            var scan = EventScan(
                queries: queries, archives: archives, user: user, range: (1, min(end, from ?? end).rawValue),
                newestFirst: true, window: UInt64(min(limit, 1_000)))
            while events.count < limit, let part = try scan.next() { events += part.prefix(limit - events.count) }
            let isWhole = events.count < limit || events.last?.seq == 1
            return EventPage(events: events, next: isWhole ? nil : events.last.map { $0.seq - 1 })
        }
        var end: UInt64
        var next: UInt64? = max(from?.rawValue ?? 1, 1)
        if let archives {
            end = try self.end(asOf).rawValue
            var log = try MergedLog(queries, archives, of: user, from: next ?? 1, through: end)
            events = try log.events(limit: limit)
            next = events.count < limit ? nil : events.last.map { $0.seq.rawValue + 1 }
        } else {
            // Long answers are read in parts: a compaction or an erasure that ends meanwhile shows in those after it.
            var known: UInt64?
            repeat {
                let part = try part(of: user, from: next ?? 1, limit: limit - events.count, asOf, end: known)
                events += part.events
                (next, known) = (part.next, part.end)
            } while next != nil && events.count < limit
            end = known ?? 0
        }
        guard let next, next <= end else { return EventPage(events: events, next: nil) }
        return EventPage(events: events, next: Seq(next))
    }

    private func end(_ asOf: Moment?) throws(TraylogError) -> Seq {
        guard let asOf else { return try head() }
        return try seq(of: asOf)
    }

    private func part(
        of user: String?, from first: UInt64, limit: Int, _ asOf: Moment?, end: UInt64?
    ) throws(TraylogError) -> (events: [Event], next: UInt64?, end: UInt64) {
        try queries.translatingErrors { _ in try Cancellation.checkCurrent() }
        guard let user else {
            return try queries.answer { store in
                let end = try end ?? store.seq(of: asOf)
                let (events, next) = try store.events(from: first, through: end, limit: limit)
                return (events, next > end ? nil : next, end)
            }
        }
        return try queries.answer(.now, of: user) { now in
            let end = try end ?? now.store.seq(of: asOf)
            let (events, next) = try now.events(from: first, through: end, limit: limit)
            return (events, next, end)
        }
    }
}
