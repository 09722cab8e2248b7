import TraylogDomain
import TraylogJSON
import TraylogQueries

// The queries for tasks: they run on threads of the store while the task waits.

extension TrayQueries {
    /// The seq of the newest event; 0 in an empty store.
    public func head() async throws(TraylogError) -> Seq {
        try await asking { store throws(TraylogError) in try store.head() }
    }

    /// The seq of a moment: the newest event that a query `asOf` it sees.
    public func seq(of moment: Moment) async throws(TraylogError) -> Seq {
        try await asking { store throws(TraylogError) in try store.seq(of: moment) }
    }

    /// One user's summary. An unknown user has an empty tray.
    ///
    /// The tray of somebody who is in memory is answered at once; else a thread of the store reads it.
    public func tray(of user: String, asOf: Moment? = nil) async throws(TraylogError) -> Tray {
        if asOf == nil, let known = try queries.knownTray(of: user) { return known }
        return try await asking { store throws(TraylogError) in try store.tray(of: user, asOf: asOf) }
    }

    /// One page of a user's items, newest position first.
    public func inbox(
        of user: String, _ query: InboxQuery = InboxQuery(), asOf: Moment? = nil
    ) async throws(TraylogError) -> InboxPage {
        try await asking { store throws(TraylogError) in try store.inbox(of: user, query, asOf: asOf) }
    }

    /// One page of a user's groups, the group with the newest item first.
    public func threads(
        of user: String, limit: Int = Limits.defaultPageItems, cursor: TraylogDomain.Cursor? = nil,
        asOf: Moment? = nil
    ) async throws(TraylogError) -> ThreadsPage {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.threads(of: user, limit: limit, cursor: cursor, asOf: asOf)
        }
    }

    /// A user's own events from `from` on, oldest first, at most `limit`.
    public func history(
        of user: String, from: Seq = 1, limit: Int = .max, asOf: Moment? = nil
    ) async throws(TraylogError) -> [Event] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.history(of: user, from: from, limit: limit, asOf: asOf)
        }
    }

    /// Events of the log from `from` on, at most `limit`. There are fewer only at the head.
    public func events(
        from: Seq = 1, limit: Int = .max, asOf: Moment? = nil
    ) async throws(TraylogError) -> [Event] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.events(from: from, limit: limit, asOf: asOf)
        }
    }

    /// The names of users after `name` that begin with `prefix`, in byte order, at most `limit`.
    public func users(
        after name: String? = nil, prefix: String = "", limit: Int = .max, asOf: Moment? = nil
    ) async throws(TraylogError) -> [String] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.users(after: name, prefix: prefix, limit: limit, asOf: asOf)
        }
    }

    /// One item of a user's tray, in whatever state.
    public func item(
        _ item: ItemReference, of user: String, asOf: Moment? = nil
    ) async throws(TraylogError) -> Item {
        try await asking { store throws(TraylogError) in try store.item(item, of: user, asOf: asOf) }
    }

    /// One item with what was done to it, by whom and when.
    public func life(
        of item: ItemReference, of user: String, asOf: Moment? = nil
    ) async throws(TraylogError) -> ItemLife {
        try await asking(atLength: true) { store throws(TraylogError) in try store.life(of: item, of: user, asOf: asOf)
        }
    }

    /// One event of the log.
    public func event(_ seq: Seq) async throws(TraylogError) -> Event {
        try await asking { store throws(TraylogError) in try store.event(seq) }
    }

    /// Sizes, counts and readers at this moment.
    public func statistics() async throws(TraylogError) -> StoreStatistics {
        try await asking(atLength: true) { store throws(TraylogError) in try store.statistics() }
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
