import TraylogDomain
import TraylogQueries

/// The log of a store: the events of all users and topics.
///
/// ```swift
/// for event in try await store.log.events(newestFirst: true, limit: 10).elements { print(event.json) }
/// ```
///
/// `store.log` and `reader.log` have it. A user's own events are ``TrayQueries/history(of:newestFirst:from:limit:asOf:including:)``, and
/// ``TrayQueries/follow(from:stopper:)`` waits for new ones.
public struct StoreLog: Sendable {
    let store: any TrayQueries
}

extension TrayQueries {
    /// The log: events by number, time and filter.
    public var log: StoreLog { StoreLog(store: self) }
}

extension StoreLog {
    /// The seq of the newest event; 0 in an empty store.
    public func head() async throws(TraylogError) -> Seq {
        try await store.asking { store throws(TraylogError) in try store.head() }
    }

    /// The seq of a moment: the newest event that a query `asOf` it sees.
    ///
    /// ```swift
    /// let midnight = try await store.log.seq(of: .time(Timestamp(milliseconds: 1_767_225_600_000)))
    /// ```
    public func seq(of moment: Moment) async throws(TraylogError) -> Seq {
        try await store.asking { store throws(TraylogError) in try store.seq(of: moment) }
    }

    /// One event of the log.
    public func event(_ seq: Seq) async throws(TraylogError) -> Event {
        try await store.asking { store throws(TraylogError) in try store.event(seq) }
    }

    /// Events of the log, page by page.
    ///
    /// It passes over events that a compaction took out of the log.
    ///
    /// ```swift
    /// var page = try await store.log.events(from: 100, limit: 50)
    /// while let next = page.next { page = try await store.log.events(from: next, limit: 50) }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    public func events(
        newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100, asOf: Moment? = nil,
        including archives: Archives? = nil
    ) async throws(TraylogError) -> Page<Event, Seq> {
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.events(newestFirst: newestFirst, from: from, limit: limit, asOf: asOf, including: archives)
        }
    }
}
