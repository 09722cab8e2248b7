@_spi(Internals) import TraylogDomain
import TraylogJSON
import TraylogQueries

// The queries for tasks: they run on threads of the store while the task waits, but for what is in memory, which the task answers
// by itself: a tray, and a page of one user's present items.

extension TrayQueries {
    /// One user's summary.
    ///
    /// An unknown user has an empty tray.
    ///
    /// A tray in memory is returned at once; otherwise a thread of the store reads it.
    ///
    /// ```swift
    /// let badge = try await store.tray(of: "ann").unseen
    /// let yesterday = try await store.tray(of: "ann", asOf: .time(.now - .seconds(86_400)))
    /// ```
    public func tray(of user: String, asOf: Moment? = nil) async throws(TraylogError) -> Tray {
        if asOf == nil, let known = try queries.knownTray(of: user) { return known }
        return try await asking { store throws(TraylogError) in try store.tray(of: user, asOf: asOf) }
    }

    /// A user's mutes, with their ends.
    ///
    /// ```swift
    /// let isQuiet = try await store.mutes(of: "ann").mutes.contains { $0.scope == .all }
    /// ```
    public func mutes(of user: String, asOf: Moment? = nil) async throws(TraylogError) -> Mutes {
        try await asking(of: user, asOf) { store throws(TraylogError) in try store.mutes(of: user, asOf: asOf) }
    }

    /// The topics that a user is subscribed to, in the byte order of their names.
    ///
    /// ```swift
    /// let wantsReleases = try await store.subscriptions(of: "ann").contains("releases")
    /// ```
    ///
    /// - Complexity: O(the user's events since the oldest of these subscriptions); nothing without one.
    public func subscriptions(of user: String, asOf: Moment? = nil) async throws(TraylogError) -> [String] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.subscriptions(of: user, asOf: asOf)
        }
    }

    /// One page of a user's items, newest position first.
    ///
    /// ```swift
    /// var page = try await store.inbox(of: "ann", InboxQuery(ItemFilter(onlyUnread: true)))
    /// while let next = page.next { page = try await store.inbox(of: "ann", InboxQuery(cursor: next)) }
    /// ```
    public func inbox(
        of user: String, _ query: InboxQuery = InboxQuery(), asOf: Moment? = nil
    ) async throws(TraylogError) -> Page<Item, TraylogDomain.Cursor> {
        if query.filter.readsEvents {
            return try await asking { store throws(TraylogError) in try store.inbox(of: user, query, asOf: asOf) }
        }
        return try await asking(of: user, asOf) { store throws(TraylogError) in
            try store.inbox(of: user, query, asOf: asOf)
        }
    }

    /// One page of a user's groups, the group with the newest item first.
    ///
    /// ```swift
    /// for group in try await store.threads(of: "ann").elements { print(group.count, group.summary ?? "") }
    /// ```
    public func threads(
        of user: String, limit: Int = 20, cursor: TraylogDomain.Cursor? = nil,
        asOf: Moment? = nil
    ) async throws(TraylogError) -> Page<ThreadGroup, TraylogDomain.Cursor> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.threads(of: user, limit: limit, cursor: cursor, asOf: asOf)
        }
    }

    /// A user's own events, page by page; nothing is hidden.
    ///
    /// ``StoreLog/allEvents(matching:newestFirst:including:)`` goes through all.
    ///
    /// ```swift
    /// let newest = try await store.history(of: "ann", newestFirst: true, limit: 20)
    /// for event in newest.elements { print(event.seq, event.kind.rawValue) }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    public func history(
        of user: String, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        asOf: Moment? = nil, including archives: Archives? = nil
    ) async throws(TraylogError) -> Page<Event, Seq> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.history(
                of: user, newestFirst: newestFirst, from: from, limit: limit, asOf: asOf, including: archives)
        }
    }

    /// Names of users after `name` that begin with `prefix`, in byte order, page by page.
    ///
    /// ``allUsers(prefix:asOf:)`` goes through all.
    ///
    /// ```swift
    /// var page = try await store.users(prefix: "team/", limit: 50)
    /// while let next = page.next { page = try await store.users(after: next, prefix: "team/", limit: 50) }
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; failed.
    public func users(
        after name: String? = nil, prefix: String = "", limit: Int = 1_000, asOf: Moment? = nil
    ) async throws(TraylogError) -> Page<String, String> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.users(after: name, prefix: prefix, limit: limit, asOf: asOf)
        }
    }

    /// One item of a user's tray, in any state.
    ///
    /// ```swift
    /// let item = try await store.item("build-17", of: "ann")
    /// ```
    public func item(
        _ item: some ItemNaming, of user: String, asOf: Moment? = nil
    ) async throws(TraylogError) -> Item {
        let item = item.reference
        return try await asking(of: user, asOf) { store throws(TraylogError) in
            try store.item(item, of: user, asOf: asOf)
        }
    }

    /// One item with the events that changed it.
    ///
    /// ```swift
    /// for event in try await store.life(of: "build-17", of: "ann").events {
    ///     print(event.kind.rawValue, event.recordedAt)
    /// }
    /// ```
    public func life(
        of item: some ItemNaming, of user: String, asOf: Moment? = nil, including archives: Archives? = nil
    ) async throws(TraylogError) -> ItemLife {
        let item = item.reference
        return try await asking(atLength: true) { store throws(TraylogError) in
            try store.life(of: item, of: user, asOf: asOf, including: archives)
        }
    }

    /// How many recipients of a broadcast have seen, read, archived and deleted it.
    ///
    /// An item that is gone keeps its last states.
    ///
    /// ```swift
    /// let audience = try await store.audience(of: notice)
    /// print("\(audience.read) of \(audience.recipients) have read it")
    /// ```
    ///
    /// - Parameters:
    ///   - item: the seq of the `broadcast` event.
    ///   - asOf: a moment of the past; without it, now.
    ///   - progress: called on a thread of the store with the number of users read so far, and about how many there are.
    /// - Throws: ``TraylogError``: refused `invalid` if it is not a broadcast, `unknownEvent`, `upToBeyondHead`, `compacted`; failed.
    /// - Complexity: reads the state of every user of the store.
    public func audience(
        of item: Seq, asOf: Moment? = nil,
        progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> Audience {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.audience(of: item, asOf: asOf, progress: progress)
        }
    }

    /// Recipients of a broadcast in the byte order of their names, page by page.
    ///
    /// ```swift
    /// var page = try await store.recipients(of: notice, .unread)
    /// while let next = page.next { page = try await store.recipients(of: notice, .unread, after: next) }
    /// ```
    ///
    /// - Throws: as ``audience(of:asOf:progress:)``, and refused `invalid` for a limit below 1.
    /// - Complexity: reads the state of every user after `name` until the page is full.
    public func recipients(
        of item: Seq, _ part: Audience.Part, after name: String? = nil, limit: Int = 1_000,
        asOf: Moment? = nil, including archives: Archives? = nil
    ) async throws(TraylogError) -> Page<Recipient, String> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.recipients(of: item, part, after: name, limit: limit, asOf: asOf, including: archives)
        }
    }

    /// The same for a query of one user's state, which the task answers by itself if that is in memory and a thread is idle.
    private func asking<Answer: Sendable>(
        of user: String, _ asOf: Moment?, _ query: @escaping @Sendable (BlockingView) throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        if asOf == nil, queries.source.isInMemory(user) {
            let store = view
            if let answer = try queries.pool.runHere({ () throws(TraylogError) in try query(store) }) { return answer }
        }
        return try await asking(query)
    }

    /// - Parameter atLength: the query may take long.
    func asking<Answer: Sendable>(
        atLength: Bool = false,
        _ query: @escaping @Sendable (BlockingView) throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let store = view
        return try await (atLength ? queries.longPool : queries.pool).run { () throws(TraylogError) in try query(store)
        }
    }
}

extension TrayQueries {
    /// Asks for something that reads the whole store, on a thread of the jobs: pages do not wait for it.
    func askingOfAll<Answer: Sendable>(
        _ query: @escaping @Sendable (BlockingView) throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let store = view
        return try await queries.jobs.run { () throws(TraylogError) in try query(store) }
    }
}
