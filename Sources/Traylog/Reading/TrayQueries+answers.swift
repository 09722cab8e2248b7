import TraylogDomain
import TraylogLMDB
import TraylogLog

// The queries of spec.md, section 5, once for every kind of store.

extension TrayQueries {
    /// The seq of the newest event; 0 in an empty store.
    public func head() throws(TraylogError) -> Seq {
        try queries.answer { source in try source.head() }
    }

    /// The seq that a moment means: the newest event that a query `asOf` it sees.
    ///
    /// - Throws: ``Refusal/upToBeyondHead(_:head:)`` for a seq beyond the head.
    public func seq(of moment: Moment) throws(TraylogError) -> Seq {
        try queries.answer { source in Seq(try source.seq(of: moment) ?? 0) }
    }

    /// One user's summary; somebody unknown has an empty tray.
    ///
    /// - Parameter asOf: a moment of the past; without it, now.
    /// - Complexity: does not depend on the number of items. Of the past: at most a few thousand events are folded.
    public func tray(of user: String, asOf: Moment? = nil) throws(TraylogError) -> Tray {
        if asOf == nil, let tray = try queries.answeredTray(of: user) { return tray }
        return try queries.answer { source in
            try Limits.check(identifier: user, "user")
            guard let seq = try source.seq(of: asOf) else { return try source.tray(of: user) }
            return try source.view(of: user, at: seq).tray()
        }
    }

    /// One page of a user's items, newest position first.
    ///
    /// - Complexity: O(page) from the cursor on, and what the filters pass over.
    public func inbox(
        of user: String, _ query: InboxQuery = InboxQuery(), asOf: Moment? = nil
    ) throws(TraylogError) -> InboxPage {
        try queries.answer { source in
            try Limits.check(identifier: user, "user")
            try Queries.check(limit: query.limit)
            let view = try source.view(of: user, at: source.seq(of: asOf))
            let (shown, next) = try view.state.shownItems(query, hasher: view.hasher, stored: view.pages)
            return InboxPage(user: user, asOf: view.head, items: try view.pages.items(shown), next: next)
        }
    }

    /// One page of a user's groups, the group with the newest item first.
    ///
    /// - Complexity: O(the user's items).
    public func threads(
        of user: String, limit: Int = Limits.defaultPageItems, cursor: TraylogDomain.Cursor? = nil,
        asOf: Moment? = nil
    ) throws(TraylogError) -> ThreadsPage {
        try queries.answer { source in
            try Limits.check(identifier: user, "user")
            try Queries.check(limit: limit)
            let view = try source.view(of: user, at: source.seq(of: asOf))
            return try view.state.threads(
                of: user, asOf: view.head, limit: limit, cursor: cursor, source: view.pages)
        }
    }

    /// A user's own events from `from` on, oldest first, at most `limit`; nothing is hidden.
    ///
    /// Broadcasts are events of their topics, and not among them.
    ///
    /// - Complexity: O(events returned).
    public func history(
        of user: String, from: Seq = 1, limit: Int = .max, asOf: Moment? = nil
    ) throws(TraylogError) -> [Event] {
        try queries.answer { source in
            try Limits.check(identifier: user, "user")
            let end = try source.seq(of: asOf) ?? .max
            let view = try source.view(of: user, at: nil)
            return try view.events(from: from.rawValue, through: end, limit: limit)
        }
    }

    /// Events of the log from `from` on, at most `limit`; fewer only at the head, or at the moment `asOf`.
    ///
    /// What a compaction took is passed over.
    ///
    public func events(
        from: Seq = 1, limit: Int = .max, asOf: Moment? = nil
    ) throws(TraylogError) -> [Event] {
        try queries.answer { source in
            let log = source.tables.log
            let floor = try source.basis().floor.seq.rawValue
            let head = try source.seq(of: asOf) ?? source.head().rawValue
            var events: [Event] = []
            var seq = max(from.rawValue, 1)
            // In chunks, so that no read transaction lives long.
            while seq <= head, events.count < limit {
                let end = events.count + min(1_000, limit - events.count)
                let next = try source.environment.read { transaction in
                    try log.forEachRecord(from: seq, floor: floor, in: transaction) { seq, record in
                        guard seq <= head else { return false }
                        events.append(try log.event(seq, record, in: transaction))
                        return events.count < end
                    }
                }
                guard next > head || events.count == end else {
                    throw CodecError(.damaged, seq: next, "it is missing from the log")
                }
                seq = next
            }
            return events
        }
    }

    /// Names of users in byte order, those after `name`, at most `limit`.
    ///
    /// - Parameter asOf: only those who had an event by then; each user's first event is looked up.
    public func users(
        after name: String? = nil, limit: Int = .max, asOf: Moment? = nil
    ) throws(TraylogError) -> [String] {
        guard let asOf else { return try users(after: name, limit: limit) }
        let end = try seq(of: asOf)
        var found: [String] = []
        var last = name
        while found.count < limit {
            let chunk = try users(after: last, limit: 1_000)
            guard let newLast = chunk.last else { break }
            last = newLast
            for user in chunk where found.count < limit {
                if try hadEvent(user, by: end) { found.append(user) }
            }
        }
        return found
    }

    private func hadEvent(_ user: String, by end: Seq) throws(TraylogError) -> Bool {
        try queries.answer { source in
            let view = try source.view(of: user, at: nil)
            let record = try source.environment.read { try StoreRecord.read(source.tables.meta, in: $0) }
            // Its first events may have left the log.
            if view.pages.stream != 0, view.pages.stream < record?.floorStreams ?? 0 { return true }
            return try !view.events(from: 1, through: end.rawValue, limit: 1).isEmpty
        }
    }

    private func users(after name: String?, limit: Int) throws(TraylogError) -> [String] {
        try queries.answer { source in
            // Names that are stored in between are in both lists, never in neither.
            let unnamed = try source.unnamedUsers(after: name)
            let table = source.tables.names(try source.progress().generation)
            let named = try source.environment.read { try table.users(after: name, limit: limit, in: $0) }
            return Queries.merge(named.map(\.name), unnamed, limit: limit)
        }
    }

    public func statistics() throws(TraylogError) -> StoreStatistics {
        try queries.answer { source in try source.statistics() }
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

    fileprivate static func check(limit: Int) throws(Refusal) {
        guard (1...Limits.pageItems).contains(limit) else {
            throw .invalid(field: "limit", reason: "must be 1 to \(Limits.pageItems), not \(limit)")
        }
    }

    fileprivate func answeredTray(of user: String) throws(TraylogError) -> Tray? {
        do {
            return try source.answeredTray(of: user)
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }

    /// Runs a query, again when a flush or a rebuild came in between, and turns what goes wrong into the public error.
    func answer<Answer>(_ body: (any ViewSource) throws -> Answer) throws(TraylogError) -> Answer {
        var triesLeft = 10_000
        var source = source
        while true {
            do {
                let basis = try source.basis()
                let answer = Result { try body(source) }
                // A rebuild or a compaction that ended meanwhile took away what was read.
                guard try source.basis() == basis else { throw StaleRead() }
                return try answer.get()
            } catch is StaleRead where triesLeft > 0 {
                triesLeft -= 1
            } catch PackedError.damaged where !(source is RefoldedSource) {
                // What is damaged may follow from the log.
                source = RefoldedSource(stored: source)
            } catch {
                throw TraylogError(error, in: source.directory)
            }
        }
    }
}
