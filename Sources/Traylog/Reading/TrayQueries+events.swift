import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// - Parameter user: whose own events; nil for all.
    func page(
        of user: String?, _ newestFirst: Bool, _ from: Seq?, _ limit: Int, _ asOf: Moment?, _ archives: Archives?
    ) throws(TraylogError) -> Page<Event, Seq> {
        guard limit >= 0 else { throw .refused(.invalid(field: "limit", reason: "must be 0 or more, not \(limit)")) }
        guard limit > 0 else {
            let first = try page(of: user, newestFirst, from, 1, asOf, archives)
            return Page([], next: first.elements.first?.seq, asOf: first.asOf)
        }
        var events: [Event] = []
        if newestFirst {
            let end = try end(asOf)
            var scan = EventScan(
                queries: queries, archives: archives, user: user, range: (1, min(end, from ?? end).rawValue),
                newestFirst: true, window: UInt64(min(limit, 1_000)))
            while events.count < limit, let part = try scan.next() { events += part.prefix(limit - events.count) }
            let isWhole = events.count < limit || events.last?.seq == 1
            return Page(events, next: isWhole ? nil : events.last.map { $0.seq - 1 }, asOf: end)
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
        return Page(events, next: next.flatMap { $0 <= end ? Seq($0) : nil }, asOf: Seq(end))
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
