@_spi(Operations) import Traylog
import TraylogDomain

/// Runs the same queries on a store and the naive model, and throws the first ``Difference``.
///
/// `recordedAt` is the store's own: items are compared with the store's log, which must not step back.
package struct Comparison {
    /// How many of the possible inbox queries are walked.
    package enum Depth: Sendable {
        /// Every view, filter combination and page size.
        case full
        /// That many a user, drawn at random.
        case sample(Int)
    }

    package static let pageSizes = [1, 2, 3, 7, 20, 100]

    package let store: any AnswersQueries
    package let naive: NaiveStore
    /// The whole log of the store; its times stand in for the naive ones.
    private let recordedAt: [Timestamp]
    /// The events with which scheduled items arrived, by item.
    private let arrivals: [Seq: Seq]
    private var random: SeededRandom
    /// The model of the moment that is compared, and the moment as the store is asked for it; nil for now.
    private var model: NaiveStore
    private var moment: Moment?

    /// - Throws: a ``Difference`` when the logs differ already.
    package init(_ store: any AnswersQueries, _ naive: NaiveStore, seed: UInt64) throws {
        self.store = store
        self.naive = naive
        model = naive
        random = SeededRandom(seed: seed)
        let events = try store.events(from: 1, limit: .max).elements
        try expectSame(naive.log().map(\.comparable), events.map(\.comparable), "events")
        var times: [Timestamp] = []
        for event in events {
            // Those below the floor stand for the ones that left.
            while times.count < Int(event.seq.rawValue) - 1 { times.append(event.recordedAt) }
            times.append(event.recordedAt)
        }
        recordedAt = times
        let arrived = naive.events.compactMap { event -> (Seq, Seq)? in
            if case .arrived(let item, _, _, _, _) = event.body { (item, event.seq) } else { nil }
        }
        arrivals = Dictionary(arrived) { first, _ in first }
        for (before, after) in zip(recordedAt, recordedAt.dropFirst()) where after < before {
            throw Difference(path: ["recordedAt"], expected: "never before \(before)", found: "\(after)")
        }
    }

    /// Compares all queries about these users, and about the log.
    package mutating func check(users: [String], depth: Depth) throws {
        try expectSame(naive.head, try store.head(), "head")
        try checkNow(users, depth: depth)
        try checkStatistics()
        for _ in 0..<2 {
            let past = Seq(UInt64(random.between(Int(naive.floor.rawValue), naive.events.count)))
            // Several events may be of one time, which means the last of them.
            let time = past == .zero ? Timestamp(milliseconds: 0) : recordedAt[Int(past.rawValue) - 1]
            let isTime = random.chance(40)
            let seq = isTime ? Seq(UInt64(recordedAt.lastIndex { $0 <= time }.map { $0 + 1 } ?? 0)) : past
            (model, moment) = (naive.past(seq, of: users), isTime ? .time(time) : .seq(past))
            defer { (model, moment) = (naive, nil) }
            try within("as of \(past)\(isTime ? " by time" : "")") { try checkNow(users, depth: .sample(3)) }
        }
    }

    private func checkStatistics() throws {
        let statistics = try store.statistics()
        try expectSame(UInt64(naive.users().count), statistics.users, "statistics, users")
        try expectSame(UInt64(naive.topics().count), statistics.topics, "statistics, topics")
    }

    private mutating func checkNow(_ users: [String], depth: Depth) throws {
        try checkLog()
        try checkUsers()
        try checkAudience()
        for user in users {
            try within("user \(String(reflecting: user))") { () throws -> Void in
                try checkTray(of: user)
                try checkMutes(of: user)
                try checkHistory(of: user)
                for _ in 0..<4 { try checkItem(of: user) }
                for limit in sizes(depth, Self.pageSizes) { try checkThreads(of: user, limit: limit) }
                switch depth {
                case .full:
                    for query in queries(of: user) {
                        for limit in Self.pageSizes { try checkInbox(of: user, query, limit: limit) }
                    }
                    for _ in 0..<40 { try checkSearch(of: user) }
                case .sample(let count):
                    let queries = queries(of: user)
                    try checkInbox(of: user, InboxQuery(), limit: random.pick(Self.pageSizes))
                    for _ in 1..<max(2, halved(count)) {
                        try checkInbox(of: user, random.pick(queries), limit: random.pick(Self.pageSizes))
                        try checkSearch(of: user)
                    }
                }
            }
        }
    }

    private func checkTray(of user: String) throws {
        var (expected, found) = (model.tray(of: user), try store.tray(of: user, asOf: moment))
        expected.seenAt = model.state(of: user).seenBy.map { recordedAt[Int($0.rawValue) - 1] }
        let lists = [expected, found].map { $0.categories.map { "\($0)" } }
        try expectSame(lists[0], lists[1], "tray, categories")
        (expected.categories, found.categories) = ([], [])
        try expectSame(expected, found, "tray")
    }

    private func checkMutes(of user: String) throws {
        var expected = model.mutes(of: user)
        for index in expected.mutes.indices {
            guard let mute = model.state(of: user).mute(expected.mutes[index].scope) else { continue }
            expected.mutes[index].since = recordedAt[Int(mute.since.rawValue) - 1]
        }
        try expectSame("\(expected)", "\(try store.mutes(of: user, asOf: moment))", "mutes")
    }

    /// One item in whatever state, by seq or key; one of another user, and one of nobody.
    private mutating func checkItem(of user: String) throws {
        var references: [ItemReference] = [
            .seq(Seq(UInt64(random.between(0, naive.events.count + 2)))), .key("of nobody"),
        ]
        for item in naive.state(of: user).items {
            references.append(.seq(item.seq))
            if let key = item.key { references.append(.key(key)) }
        }
        let reference = random.pick(references)
        let expected: Result<Item, Refusal>
        do throws(Refusal) {
            expected = .success(withStoredTime(try model.item(reference, of: user)))
        } catch {
            expected = .failure(error)
        }
        let found: Result<Item, Refusal>
        do throws(TraylogError) {
            found = .success(try store.item(reference, of: user, asOf: moment))
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            found = .failure(refusal)
        }
        switch (expected, found) {
        case (.success(let item), .success(let other)):
            try expectSame(item, other, "item \(reference)")
        case (.success(let item), .failure(.compacted)) where item.isGone && item.seq < naive.floor:
            // The events that changed it are no longer needed, though its own event may have stayed.
            break
        default: try expectSame("\(expected)", "\(found)", "item \(reference)")
        }
    }

    private mutating func sizes(_ depth: Depth, _ all: [Int]) -> [Int] {
        if case .full = depth { all } else { [random.pick(all)] }
    }
}

// MARK: - The log and users

extension Comparison {
    private mutating func checkLog() throws {
        for _ in 0..<3 {
            let from = Seq(UInt64(random.between(1, naive.events.count + 2)))
            let limit = random.pick([0, 1, 2, 10, 1_000])
            try expectSame(
                model.log(from: from, limit: limit).map(\.comparable),
                try store.events(from: from, limit: limit, asOf: moment).elements.map(\.comparable),
                "events from \(from) limit \(limit)")
        }
    }

    private mutating func checkUsers() throws {
        let expected = model.users()
        try expectSame(expected, try store.users(after: nil, prefix: "", limit: .max, asOf: moment).elements, "users")
        let after = random.pick(expected + ["", "m", "zzz"])
        try expectSame(
            model.users(after: after, limit: 2),
            try store.users(after: after, prefix: "", limit: 2, asOf: moment).elements,
            "users after \(String(reflecting: after)) limit 2")
        let prefix = String(random.pick(expected + ["m"]).prefix(random.between(1, 2)))
        let start = random.chance(50) ? nil : after
        try expectSame(
            model.users(after: start, prefix: prefix, limit: 3),
            try store.users(after: start, prefix: prefix, limit: 3, asOf: moment).elements,
            "users after \(String(reflecting: start)) with prefix \(String(reflecting: prefix))")
    }

    private mutating func checkHistory(of user: String) throws {
        try expectSame(
            model.history(of: user).map(\.comparable),
            try store.history(of: user, from: 1, limit: .max, asOf: moment).elements.map(\.comparable), "history")
        let from = Seq(UInt64(random.between(1, naive.events.count + 2)))
        let limit = random.pick([0, 1, 2, 10, 1_000])
        try expectSame(
            model.history(of: user, from: from, limit: limit).map(\.comparable),
            try store.history(of: user, from: from, limit: limit, asOf: moment).elements.map(\.comparable),
            "history from \(from) limit \(limit)")
    }
}

// MARK: - Audiences

extension Comparison {
    /// Events times users that one look at an audience of the past may fold.
    private static let mostFolded = 200_000

    /// The audience of a broadcast is what a count over all trays gives.
    private mutating func checkAudience() throws {
        let broadcasts = model.events.filter { $0.kind == .broadcast && !naive.dropped.contains($0.seq) }
        guard !broadcasts.isEmpty, naive.users().count * model.events.count < Self.mostFolded else { return }
        let item = random.pick(broadcasts).seq
        let end = moment.map { _ in model.head }
        try expectSame(
            naive.audience(of: item, asOf: end), try store.audience(of: item, asOf: moment), "audience of \(item)")
        let part = random.pick(Audience.Part.allCases)
        let limit = random.pick([1, 2, 1_000])
        var found: [Recipient] = []
        var last: String?
        repeat {
            let page = try store.recipients(of: item, part, after: last, limit: limit, asOf: moment)
            found += page.elements
            last = page.next
        } while last != nil
        let expected = naive.recipients(of: item, part, asOf: end).map(withStoredTimes)
        // Below the floor the event that made it so is unknown; answers stay.
        func known(_ recipient: Recipient) -> Recipient {
            naive.floor == .zero ? recipient : Recipient(user: recipient.user, outcome: recipient.outcome)
        }
        try expectSame(expected.map(known), found.map(known), "\(part) recipients of \(item)")
    }

    private func withStoredTimes(_ recipient: Recipient) -> Recipient {
        func stored(_ occasion: Recipient.Occasion) -> Recipient.Occasion {
            Recipient.Occasion(seq: occasion.seq, at: recordedAt[Int(occasion.seq.rawValue) - 1])
        }
        var recipient = recipient
        (recipient.seen, recipient.read) = (recipient.seen.map(stored), recipient.read.map(stored))
        if let outcome = recipient.outcome { recipient.outcome?.at = recordedAt[Int(outcome.seq.rawValue) - 1] }
        return recipient
    }
}

// MARK: - Pages

extension Comparison {
    /// Every combination of view and filters, with the threads and categories of the user's items and one unknown each.
    private func queries(of user: String) -> [InboxQuery] {
        let items = naive.state(of: user).items
        let threads = Set(items.compactMap { Name($0.content.thread) }).sorted().prefix(4)
        let categories = Set(items.compactMap { Name($0.content.category) }).sorted().prefix(3)
        var queries: [InboxQuery] = []
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            for flags in Array(0..<8) + [8, 9, 12] {
                for thread in [.any, .unthreaded, .named("of nobody")]
                    + threads.map({ ItemFilter.Thread.named($0.text) })
                {
                    let names = categories.map(\.text)
                    for chosen in [[], ["of nobody"], names.suffix(2) + ["of nobody"]] + names.map({ [$0] }) {
                        queries.append(
                            InboxQuery(
                                ItemFilter(
                                    includeSilent: flags & 1 != 0, onlyUnread: flags & 2 != 0,
                                    onlyUnseen: flags & 4 != 0, onlyAwaiting: flags & 8 != 0, thread: thread,
                                    categories: chosen), view: view))
                    }
                }
            }
        }
        return queries
    }

    /// A query by fields that are only in the log, with and without other filters.
    private mutating func checkSearch(of user: String) throws {
        let items = model.state(of: user).items.map(\.shown).map(withStoredTime)
        var query = random.chance(50) ? random.pick(queries(of: user)) : InboxQuery()
        let found = random.search(items, of: user)
        (query.filter.actor, query.filter.level, query.filter.text) = (found.actor, found.level, found.text)
        (query.filter.since, query.filter.until) = (found.since, found.until)
        try checkInbox(of: user, query, limit: random.pick(Self.pageSizes))
    }

    /// Walks all pages; each must be full, in order, and the last one must say that it is.
    private func checkInbox(of user: String, _ query: InboxQuery, limit: Int) throws {
        var timeless = query
        (timeless.filter.since, timeless.filter.until) = (nil, nil)
        let expected = model.matches(of: user, timeless).map(withStoredTime).filter {
            $0.recordedAt >= query.filter.since ?? $0.recordedAt && $0.recordedAt <= query.filter.until ?? $0.recordedAt
        }
        var query = query
        // Each page of one item is a new query: long lists are walked in larger pages.
        query.limit = max(limit, expected.count / 200)
        try within(String(describing: query)) {
            try checkPages(expected, size: query.limit) { cursor in
                query.cursor = cursor
                return try store.inbox(of: user, query, asOf: moment)
            }
        }
    }

    private func checkThreads(of user: String, limit: Int) throws {
        let expected = model.groups(of: user).map { group in
            var group = group
            group.newest = withStoredTime(group.newest)
            return group
        }
        try within("threads limit \(limit)") {
            try checkPages(expected, size: limit) { cursor in
                try store.threads(of: user, limit: limit, cursor: cursor, asOf: moment)
            }
        }
    }

    private func checkPages<Row: TextBearing>(
        _ expected: [Row], size: Int, page: (Cursor?) throws -> Page<Row, Cursor>
    ) throws {
        var walked = 0
        var cursor: Cursor?
        repeat {
            let answer = try page(cursor)
            let rows = Array(expected[walked..<min(walked + size, expected.count)])
            try expectSame(rows, answer.elements, "from #\(walked)")
            try expectSame(model.head, answer.asOf, "asOf")
            walked += rows.count
            try expectSame(walked < expected.count, answer.next != nil, "next after #\(walked)")
            // Clients keep the text.
            cursor = answer.next.flatMap { Cursor($0.description) }
            try expectSame(answer.next, cursor, "the cursor read back from its text")
        } while cursor != nil
    }

    private func withStoredTime(_ item: Item) -> Item {
        var item = item
        item.recordedAt = recordedAt[Int(item.seq.rawValue) - 1]
        if item.arrivedAt != nil { item.arrivedAt = arrivals[item.seq].map { recordedAt[Int($0.rawValue) - 1] } }
        if let outcome = item.outcome { item.outcome?.at = recordedAt[Int(outcome.seq.rawValue) - 1] }
        return item
    }
}

extension Event {
    /// The event without the fields that only the store has.
    package var comparable: Event {
        var event = self
        event.recordedAt = Timestamp(milliseconds: 0)
        if case .arrived(let item, let topic, let key, _, let content) = body {
            event.body = .arrived(item: item, topic: topic, key: key, notifiedAt: Timestamp(milliseconds: 0), content)
        }
        event.unknownFields = []
        event.commandFingerprint = 0
        event.edits = 0
        return event
    }
}
