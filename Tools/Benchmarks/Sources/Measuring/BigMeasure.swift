import Traylog

/// The read cases, and bulk appends to what is there, in a store of any size.
struct BigMeasure {
    let setup: Setup

    init(_ setup: Setup) { self.setup = setup }

    func run() async throws -> Figures {
        var figures = try reads()
        figures.values["appendPerSecond"] = try await appends()
        return figures
    }

    /// Each of 100,000 users drawn as often as the log has them: who is active, looks.
    private func reads() throws -> Figures {
        let store = try Store.open(setup.directory, options: setup.options).blocking
        defer { store.close() }
        let measure = QueryMeasure(setup)
        let users = measure.frequentUsers(100_000)
        let some = Array(users.prefix(5_000))
        // The most frequent user.
        let heavy = Workload.user(7 % setup.users)
        return Figures([
            "badge": try measure.badge(store, users: users),
            "page": try measure.page(store, users: users),
            "pageDeep": try measure.pageDeep(store, user: heavy, depth: 0.5),
            "threads": try threads(store, measure),
            "asOf": try measure.asOf(store, users: some).values["nanoseconds"] ?? 0,
        ])
    }

    private func threads(_ store: BlockingStore, _ measure: QueryMeasure) throws -> Double {
        var few = measure
        few.setup.queries = 1_000
        return try few.threads(store, user: few.userWithItems(1_000, store))
    }

    private func appends() async throws -> Double {
        let store = try Store.open(setup.directory, options: setup.options)
        var workload = setup.workload
        let events = 2 * Workload.pool
        let batches = workload.batches(Workload.pool, size: CasePlan.batch)
        let watch = Stopwatch()
        do {
            try await BulkMeasure.append(batches, events: events, to: store)
        } catch {
            await store.close()
            throw error
        }
        let seconds = watch.seconds
        await store.close()
        return Double(events) / seconds
    }
}
