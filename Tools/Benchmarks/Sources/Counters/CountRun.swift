import Traylog

/// The same work each time, counted instead of timed.
struct CountRun {
    private static let events = 20_000
    private static let users = 1_000
    private static let pageBytes = 4_096.0
    private static let inLargeTrays = [
        "`markAll` of a thread", "`markAll` of a category", "`markAll` of everything", "`mark` of 1,000 items",
        "`tray --as-of` five events back", "`audit` of 100 events", "`undo` of a mark",
    ]

    let directory: String

    func run() throws -> Figures {
        var counts: [String: Double] = [:]
        let all = try LibraryCounts.of(3 * Self.events) {
            let store = try Store.open(directory).blocking
            try appendInBulk(store, &counts)
            store.close()
        }
        // When a round of flushing begins depends on pauses; what it writes in the end does not.
        counts["append and flush: pages per event"] = all.writtenBytes / Self.pageBytes
        let store = try Store.open(directory).blocking
        try read(store, &counts)
        try appendOneByOne(store, &counts)
        store.close()
        // Each page and each fact that is looked at takes memory: what costs the tray and not a page shows here.
        for cost in try GrowthRun(directory: directory + "-large", items: 20_000).run()
        where Self.inLargeTrays.contains(cost.name) {
            counts["large tray: \(cost.name): allocations"] = cost.allocations
        }
        return Figures(counts)
    }

    private func appendInBulk(_ store: BlockingStore, _ counts: inout [String: Double]) throws {
        var workload = Workload(users: Self.users, .uniform)
        // New users, and what is needed only once, are not what an event costs.
        for batch in workload.batches(Self.events, size: CasePlan.batch) { _ = try store.perform(batch) }
        let batches = workload.batches(Self.events, size: CasePlan.batch)
        let append = try LibraryCounts.of(Self.events) {
            for batch in batches { _ = try store.perform(batch) }
        }
        counts["append: allocations per event"] = append.allocations
        counts["append: syncs per transaction"] = append.syncs * Double(CasePlan.batch)
        var keyed = workload.batches(Self.events, size: CasePlan.batch)
        for batch in keyed.indices {
            for index in keyed[batch].indices { keyed[batch][index].key = "key-\(batch)-\(index)" }
        }
        let keys = try LibraryCounts.of(Self.events) {
            for batch in keyed { _ = try store.perform(batch) }
        }
        counts["append with keys: allocations per event"] = keys.allocations
    }

    private func read(_ store: BlockingStore, _ counts: inout [String: Double]) throws {
        let users = (0..<Self.users).map(Workload.user)
        // States are in memory from the second look on.
        for user in users { _ = (try store.tray(of: user), try store.inbox(of: user)) }
        let badge = try LibraryCounts.of(users.count) {
            for user in users { _ = try store.tray(of: user) }
        }
        counts["badge: allocations"] = badge.allocations
        let page = try LibraryCounts.of(users.count) {
            for user in users { _ = try store.inbox(of: user) }
        }
        counts["page of 20: allocations"] = page.allocations
        try appendAgain(store)
        let fold = try LibraryCounts.of(Self.events) {
            for user in users { _ = try store.tray(of: user) }
        }
        counts["fold: allocations per event"] = fold.allocations
    }

    private func appendAgain(_ store: BlockingStore) throws {
        var workload = Workload(users: Self.users, .uniform)
        for batch in workload.batches(Self.events, size: CasePlan.batch) { _ = try store.perform(batch) }
    }

    private func appendOneByOne(_ store: BlockingStore, _ counts: inout [String: Double]) throws {
        var workload = Workload(users: Self.users, .uniform)
        let commands = workload.commands(500)
        let single = try LibraryCounts.of(commands.count) {
            for command in commands { _ = try store.perform(command) }
        }
        counts["single: allocations per event"] = single.allocations
        counts["single: pages written per event"] = single.writtenBytes / Self.pageBytes
        counts["single: pages synced per event"] = single.syncedPages
        counts["single: syncs per event"] = single.syncs
    }
}
