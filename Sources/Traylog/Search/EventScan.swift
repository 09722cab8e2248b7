import TraylogDomain
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// A range of events, in one direction, in parts that are read in snapshots of their own.
struct EventScan {
    let queries: Queries
    let archives: Archives?
    let user: String?
    /// The part of the log that the search has not read yet.
    var range: (first: UInt64, last: UInt64)
    let newestFirst: Bool
    /// Seqs that one part spans; fewer where one of them is damaged, so that it hides none before it.
    var window: UInt64

    /// The events of the next part, in order; nil at the end.
    mutating func next() throws(TraylogError) -> [Event]? {
        try queries.translatingErrors { _ in try Cancellation.checkCurrent() }
        guard range.first <= range.last else { return nil }
        while true {
            var part = range
            if newestFirst {
                part.first = try start(endingWith: range.last)
            } else {
                part.last = try end(beginningWith: range.first)
            }
            do throws(TraylogError) {
                let events = try read(part.first, part.last)
                if newestFirst { range.last = part.first - 1 } else { range.first = part.last + 1 }
                return newestFirst ? events.reversed() : events
            } catch {
                guard error.failure?.code == .damaged, window > 1 else { throw error }
                window /= 2
            }
        }
    }

    /// Where the next part begins.
    var place: Seq { Seq(newestFirst ? range.last : range.first) }

    /// The last seq of a part.
    ///
    /// For a user and without archives, the part spans a window of the user's own events.
    private func end(beginningWith first: UInt64) throws(TraylogError) -> UInt64 {
        guard let user, archives == nil else { return min(range.last, first + window - 1) }
        let last = range.last
        return try queries.answer(.now, of: user) { now in
            let seqs = try now.state.events(from: first, through: last, limit: Int(window), stored: now.pages)
            return seqs.count == Int(window) ? seqs[seqs.count - 1] : last
        }
    }

    private func start(endingWith last: UInt64) throws(TraylogError) -> UInt64 {
        guard let user, archives == nil else {
            return max(range.first, last >= window ? last - window + 1 : 1)
        }
        let first = range.first
        return try queries.answer(.now, of: user) { now in
            let seqs = try now.state.events(from: first, through: last, stored: now.pages)
            return seqs.count > Int(window) ? seqs[seqs.count - Int(window)] : first
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
