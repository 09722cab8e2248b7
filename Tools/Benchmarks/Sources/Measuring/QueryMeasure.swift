import Traylog

/// Queries of one thread, with caches warm; the store is open for writing, as in the program that owns it.
struct QueryMeasure {
    var setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run(_ benchCase: BenchCase) throws -> Figures {
        let store = try Store.open(setup.directory, options: setup.options).blocking
        defer { store.close() }
        switch benchCase {
        case .badge: return Figures(["nanoseconds": try badge(store, users: (0..<setup.users).map(Workload.user))])
        case .page: return Figures(["nanoseconds": try page(store, users: frequentUsers(setup.queries))])
        case .pageDeep: return Figures(["nanoseconds": try pageDeep(store, user: Workload.user(0), depth: 0.9)])
        case .threads: return Figures(["nanoseconds": try threads(store, user: userWithItems(1_000, store))])
        default: return try asOf(store, users: frequentUsers(setup.queries))
        }
    }

    /// The tray of a random user.
    func badge(_ store: BlockingStore, users: [String]) throws -> Double {
        var random = SplitMix64(state: 99)
        let order = (0..<setup.queries).map { _ in Int(random.next() % UInt64(users.count)) }
        // Users that come only in the second pass are to be as warm as the others.
        for user in users { _ = try store.tray(of: user) }
        var sum = 0
        let nanoseconds = try Stopwatch.nanoseconds(order.count) { query in
            sum += try store.tray(of: users[order[query]]).unread
        }
        guard sum > 0 else { throw BenchError("the trays are empty") }
        return nanoseconds
    }

    /// The first 20 items of users with at least so many.
    func page(_ store: BlockingStore, users: [String]) throws -> Double {
        let full = try users.filter { try store.inbox(of: $0).elements.count == 20 }
        guard !full.isEmpty else { throw BenchError("no user has 20 items") }
        return try Stopwatch.nanoseconds(setup.queries) { query in
            let page = try store.inbox(of: full[query % full.count])
            guard page.elements.count == 20 else { throw BenchError("a page is not full") }
        }
    }

    /// Pages of 20 around the place in one user's inbox that has `depth` (a fraction) of the items above it.
    func pageDeep(_ store: BlockingStore, user: String, depth: Double) throws -> Double {
        var query = InboxQuery(limit: 100)
        var left = Int(Double(try store.tray(of: user).total) * depth) / 100
        var cursors: [Cursor] = []
        while let next = try store.inbox(of: user, query).next {
            query.cursor = next
            left -= 1
            if left < 0 { cursors.append(next) }
            if cursors.count == 1_000 { break }
        }
        cursors = cursors.dropLast()
        guard !cursors.isEmpty else { throw BenchError("the inbox is not so deep") }
        return try Stopwatch.nanoseconds(min(setup.queries, 50_000)) { index in
            let page = try store.inbox(of: user, InboxQuery(cursor: cursors[index * 7 % cursors.count]))
            guard page.elements.count == 20 else { throw BenchError("a page is not full") }
        }
    }

    func threads(_ store: BlockingStore, user: String) throws -> Double {
        try Stopwatch.nanoseconds(setup.queries) { _ in
            guard try store.threads(of: user).elements.count > 1 else { throw BenchError("there are no threads") }
        }
    }

    /// Trays of random moments, and of now for comparison.
    func asOf(_ store: BlockingStore, users: [String]) throws -> Figures {
        let head = UInt64(try store.head())
        var random = SplitMix64(state: 99)
        let moments = users.map { _ in Moment.seq(Seq(random.next() % head + 1)) }
        return Figures([
            "nanoseconds": try Stopwatch.nanoseconds(users.count) { index in
                _ = try store.tray(of: users[index], asOf: moments[index])
            },
            "nowNanoseconds": try Stopwatch.nanoseconds(users.count) { index in
                _ = try store.tray(of: users[index])
            },
        ])
    }

    /// Random users, each as often as in the log.
    func frequentUsers(_ count: Int) -> [String] {
        var sequence = UserSequence(users: setup.users, setup.distribution)
        var random = SplitMix64(state: 99)
        return (0..<count).map { _ in Workload.user(sequence.next(&random)) }
    }

    /// The user with about so many items, of some that have many.
    func userWithItems(_ wanted: Int64, _ store: BlockingStore) throws -> String {
        let users = frequentUsers(2_000)
        let totals = try users.map { Int64(try store.tray(of: $0).total) }
        let best = zip(users, totals).min { abs($0.1 - wanted) < abs($1.1 - wanted) }
        guard let best else { throw BenchError("there are no users") }
        return best.0
    }
}
