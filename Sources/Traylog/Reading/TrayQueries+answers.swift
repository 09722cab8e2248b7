@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogPlatform
@_spi(Replication) import TraylogQueries
@_spi(Replication) import TraylogReplica
import TraylogStates

// The queries, once for every kind of store.

extension BlockingQueries {
    /// The seq of the newest event; 0 in an empty store.
    @available(*, noasync, message: "use `await store.log.head`; this call blocks a thread that tasks share")
    public func head() throws(TraylogError) -> Seq {
        try queries.translatingErrors { Seq(try $0.head()) }
    }

    /// The seq that a moment means: the newest event that a query `asOf` it sees.
    ///
    /// - Throws: `upToBeyondHead` for a seq beyond the head.
    @available(*, noasync, message: "use `await store.log.seq`; this call blocks a thread that tasks share")
    public func seq(of moment: Moment) throws(TraylogError) -> Seq {
        try queries.answer { Seq(try $0.seq(of: moment)) }
    }

    /// One user's summary; an unknown user has an empty tray.
    ///
    /// ```swift
    /// let badge = try store.blocking.tray(of: "ann").unseen
    /// ```
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - asOf: a moment of the past; without it, now.
    /// - Complexity: does not depend on the number of items. Of the past: at most a few thousand events are folded.
    @available(*, noasync, message: "use `await store.tray`; this call blocks a thread that tasks share")
    public func tray(of user: String, asOf: Moment? = nil) throws(TraylogError) -> Tray {
        if let asOf { return try queries.answer(.past, of: user) { try $0.at(asOf).tray() } }
        return try queries.tray(of: user)
    }

    /// A user's mutes, with their ends.
    ///
    /// - Complexity: O(mutes).
    @available(*, noasync, message: "use `await store.mutes`; this call blocks a thread that tasks share")
    public func mutes(of user: String, asOf: Moment? = nil) throws(TraylogError) -> Mutes {
        try queries.answer(asOf == nil ? .now : .past, of: user) { now in
            let view = try now.at(asOf)
            return Mutes(user: user, asOf: Seq(view.asOf), mutes: try view.state.mutes(from: view.pages))
        }
    }

    /// The topics that a user is subscribed to, in the byte order of their names.
    ///
    /// - Complexity: O(the user's events since the oldest of these subscriptions); nothing without one.
    @available(*, noasync, message: "use `await store.subscriptions`; this call blocks a thread that tasks share")
    public func subscriptions(of user: String, asOf: Moment? = nil) throws(TraylogError) -> [String] {
        try queries.answer(asOf == nil ? .now : .past, of: user) { now in
            let view = try now.at(asOf)
            let named = try NamingEvents(
                of: view.state, stored: view.pages, hasher: view.hasher, log: view.store.tables.log.events,
                rows: view.store)
            return named.topics.filter { $0.until == nil }.map(\.topic)
        }
    }

    /// One page of a user's items, newest position first.
    ///
    /// ```swift
    /// let newest = try store.blocking.inbox(of: "ann").elements
    /// ```
    ///
    /// - Complexity: O(page) from the cursor on, plus the items that the filters leave out.
    @available(*, noasync, message: "use `await store.inbox`; this call blocks a thread that tasks share")
    public func inbox(
        of user: String, _ query: InboxQuery = InboxQuery(), asOf: Moment? = nil
    ) throws(TraylogError) -> Page<Item, TraylogDomain.Cursor> {
        try queries.answer(asOf == nil ? .now : .past, of: user) { now in
            try query.validate()
            let view = try now.at(asOf)
            let history = view.store.record.history
            try query.cursor.map { try history.check($0.history, at: $0.before) }
            let (shown, next) = try view.state.shownItems(query, of: user, hasher: view.hasher, stored: view.pages)
            return Page(try view.pages.items(shown), next: next?.within(history), asOf: Seq(view.asOf))
        }
    }

    /// One page of a user's groups, the group with the newest item first.
    ///
    /// - Complexity: O(the user's items).
    @available(*, noasync, message: "use `await store.threads`; this call blocks a thread that tasks share")
    public func threads(
        of user: String, limit: Int = 20, cursor: TraylogDomain.Cursor? = nil,
        asOf: Moment? = nil
    ) throws(TraylogError) -> Page<ThreadGroup, TraylogDomain.Cursor> {
        try queries.answer(asOf == nil ? .now : .past, of: user) { now in
            try Limits.check(pageLimit: limit)
            let view = try now.at(asOf)
            let history = view.store.record.history
            try cursor.map { try history.check($0.history, at: $0.before) }
            var page = try view.state.threads(
                asOf: Seq(view.asOf), limit: limit, cursor: cursor, source: view.pages)
            page.next = page.next?.within(history)
            return page
        }
    }

    /// A user's own events, page by page; nothing is hidden.
    ///
    /// Broadcasts are not among them, because they are events of their topics.
    ///
    /// - Parameters:
    ///   - user: the user whose events to read.
    ///   - newestFirst: goes from the end to the beginning.
    ///   - from: where to begin: ``Page/next`` of the page before; nil for the oldest event, or the newest one.
    ///   - limit: the greatest number of events, all of which are in memory.
    ///   - asOf: a moment of the past; without it, now.
    ///   - archives: read as well, as if nothing had left the log.
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    /// - Complexity: O(events returned); with archives, of all that they have of the log between the first and the last one.
    @available(*, noasync, message: "use `await store.history`; this call blocks a thread that tasks share")
    public func history(
        of user: String, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        asOf: Moment? = nil, including archives: Archives? = nil
    ) throws(TraylogError) -> Page<Event, Seq> {
        try queries.translatingErrors { _ in try Limits.check(identifier: user, "user") }
        return try page(of: user, newestFirst, from, limit, asOf, archives)
    }

    /// Events of the log, page by page.
    ///
    /// It passes over events that a compaction took out of the log.
    ///
    /// - Throws: as ``history(of:newestFirst:from:limit:asOf:including:)``, whose parameters it has.
    /// - Complexity: as that one's.
    @available(*, noasync, message: "use `await store.log.events`; this call blocks a thread that tasks share")
    public func events(
        newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100, asOf: Moment? = nil,
        including archives: Archives? = nil
    ) throws(TraylogError) -> Page<Event, Seq> {
        try page(of: nil, newestFirst, from, limit, asOf, archives)
    }

    /// Names of users in byte order, page by page.
    ///
    /// - Parameters:
    ///   - name: goes on after this one, ``Page/next`` of the page before; nil for the first.
    ///   - limit: the greatest number of names; 0 or more.
    ///   - prefix: only names that begin with these bytes of UTF-8.
    ///   - asOf: only those who had an event by then; each user's first event is looked up.
    /// - Throws: ``TraylogError``: refused `invalid`, `upToBeyondHead`; failed.
    /// - Complexity: O(names returned + users who are so new that their names are not stored yet).
    @available(*, noasync, message: "use `await store.users`; this call blocks a thread that tasks share")
    public func users(
        after name: String? = nil, prefix: String = "", limit: Int = 1_000, asOf: Moment? = nil
    ) throws(TraylogError) -> Page<String, String> {
        guard limit >= 0 else { throw .refused(.invalid(field: "limit", reason: "must be 0 or more, not \(limit)")) }
        guard limit > 0 else {
            let first = try users(after: name, prefix: prefix, limit: 1, asOf: asOf)
            // Every name comes after the empty one, which nobody has.
            return Page([], next: first.elements.isEmpty ? nil : name ?? "", asOf: first.asOf)
        }
        guard let asOf else {
            let (users, head) = try users(after: name, prefix, limit: limit)
            return Page(users: users, limit: limit, asOf: head)
        }
        let end = try seq(of: asOf)
        var found: [String] = []
        var last = name
        while found.count < limit {
            let chunk = try users(after: last, prefix, limit: 1_000).names
            guard let newLast = chunk.last else { break }
            last = newLast
            for user in chunk where found.count < limit {
                try queries.translatingErrors { _ in try Cancellation.checkCurrent() }
                if try queries.answer(.now, of: user, { try $0.hadEvent(by: end.rawValue) }) { found.append(user) }
            }
        }
        return Page(users: found, limit: limit, asOf: end)
    }

    private func users(
        after name: String?, _ prefix: String, limit: Int
    ) throws(TraylogError) -> (names: [String], head: Seq) {
        try queries.translatingErrors { source in
            try source.readUsers { store, unnamed in
                let named = try store.read {
                    try store.names.users(after: name, prefix: prefix, limit: limit, in: $0).map(\.name)
                }
                // There may be a million new ones: those after the page need no order.
                let last = named.count < limit ? nil : named.last
                let new = unnamed.filter { user in
                    user.utf8.starts(with: prefix.utf8) && name.map { $0.precedesInBytes(user) } ?? true
                        && last.map { user.precedesInBytes($0) } ?? true
                }
                let names = Queries.merge(named, new.sorted { $0.precedesInBytes($1) }, limit: limit)
                return (names, Seq(store.head))
            }
        }
    }

    /// Sizes, counts and readers at this moment.
    ///
    /// - Parameter checkingStates: also counts damaged states, which takes about a microsecond for each user; without it the
    ///   answer takes as long for a large store as for a small one.
    @available(*, noasync, message: "use `await store.upkeep.statistics`; this call blocks a thread that tasks share")
    @_spi(Operations) public func statistics(checkingStates: Bool = true) throws(TraylogError) -> StoreStatistics {
        try queries.translatingErrors { try $0.statistics(checkingStates: checkingStates) }
    }
}

extension Page<String, String> {
    fileprivate init(users: [String], limit: Int, asOf: Seq) {
        self.init(users, next: users.count < limit ? nil : users.last, asOf: asOf)
    }
}

extension Queries {
    fileprivate static func merge(_ left: [String], _ right: [String], limit: Int) -> [String] {
        guard !right.isEmpty else { return left }
        var merged: [String] = []
        var (i, j) = (0, 0)
        while merged.count < limit, i < left.count || j < right.count {
            if j == right.count || (i < left.count && left[i].precedesInBytes(right[j])) {
                merged.append(left[i])
                i += 1
            } else {
                if i < left.count, left[i].hasSameBytes(as: right[j]) { i += 1 }
                merged.append(right[j])
                j += 1
            }
        }
        return merged
    }

    /// The tray of a user who is in memory; nil for anybody else.
    func knownTray(of user: String) throws(TraylogError) -> Tray? { try knownTrayAndStream(of: user)?.tray }

    /// The same with the number of the user's stream.
    func knownTrayAndStream(of user: String) throws(TraylogError) -> (tray: Tray, stream: UInt32)? {
        try known { try $0.knownTray(of: user) }
    }

    /// The version of the tray of a user who is in memory and follows no topic; nil for anybody else.
    func knownVersion(of user: String) throws(TraylogError) -> TrayVersion? {
        try known { try $0.knownVersion(of: user) }
    }

    private func known<Answer>(_ body: (any SnapshotSource) throws -> Answer?) throws(TraylogError) -> Answer? {
        try translatingErrors { source in
            do {
                return try body(source)
            } catch is PackedError {
                // The long way names the damage, or derives the state again.
                return nil
            }
        }
    }

    fileprivate func tray(of user: String) throws(TraylogError) -> Tray {
        try translatingErrors { source in
            do {
                return try source.tray(of: user)
            } catch PackedError.damaged {
                return try source.read(.refolded, of: user) { try $0.tray() }
            }
        }
    }

    /// Runs a query that concerns no user, in a snapshot of its own.
    func answer<Answer>(_ body: (StoreSnapshot) throws -> Answer) throws(TraylogError) -> Answer {
        try translatingErrors { try $0.read(body) }
    }

    /// Runs a query of one user's state, in a snapshot of its own.
    ///
    /// - Parameter body: may run twice, the second time on a state that is folded from the log alone, because what is
    ///   stored of the user is damaged.
    func answer<Answer>(
        _ reading: UserReading, of user: String, _ body: (UserSnapshot) throws -> Answer
    ) throws(TraylogError) -> Answer {
        try translatingErrors { source in
            try Limits.check(identifier: user, "user")
            do {
                return try source.read(reading, of: user, body)
            } catch PackedError.damaged {
                return try source.read(.refolded, of: user, body)
            }
        }
    }

    /// Turns what goes wrong into the public error.
    func translatingErrors<Answer>(
        _ body: (any SnapshotSource) throws -> Answer
    ) throws(TraylogError) -> Answer {
        do {
            return try askingAgain(body)
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }

    /// Repeats the query while a writer overtakes a reader without locks, up to a limit.
    private func askingAgain<Answer>(_ body: (any SnapshotSource) throws -> Answer) throws -> Answer {
        guard !isClosed.load(ordering: .relaxed) else { throw TraylogError.closed(source.directory) }
        for _ in 0..<Self.attemptsWithoutLocks {
            do {
                return try body(source)
            } catch let error as LMDBError where error.code == .overtaken {
                continue
            }
        }
        return try body(source)
    }

    private static let attemptsWithoutLocks = 50
}
