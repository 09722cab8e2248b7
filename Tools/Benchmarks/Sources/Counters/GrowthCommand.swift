import ArgumentParser
import Foundation
@_spi(Operations) import Traylog

/// Measures what an operation costs in trays of growing size.
struct GrowthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "growth",
        abstract: "Measures what operations cost as one tray grows.",
        discussion: """
            Each size is the number of items of one user, in a tenth as many threads, a hundredth as many categories and \
            topics. Prints a table: processor time in microseconds, of all threads, for one operation. With --waits: the \
            longest that an append and a badge of another user took meanwhile, in milliseconds.
            """
    )

    @Option(help: "Items of the tray; may be given several times.")
    var items: [Int] = [10_000, 100_000]

    @Option(help: "Where the stores are made and removed.")
    var directory = FileManager.default.temporaryDirectory.path

    @Flag(help: "Print how long another user waited instead of processor time.")
    var waits = false

    func run() throws {
        var columns: [[GrowthRun.Cost]] = []
        for count in items {
            let directory = try RunDirectory(under: directory)
            defer { directory.remove() }
            columns.append(try GrowthRun(directory: directory.fresh(), items: count, watchesOthers: waits).run())
        }
        print("| operation | " + items.map { "\($0) items" }.joined(separator: " | ") + " |")
        print("|---|" + items.map { _ in "--:|" }.joined())
        for (row, cost) in (columns.first ?? []).enumerated() {
            let cells = columns.map { column in
                let cost = column[row]
                guard let waits = cost.waits else { return String(format: "%.1f", cost.microseconds) }
                return String(format: "%.1f / %.1f", waits.append * 1e3, waits.badge * 1e3)
            }
            print("| \(cost.name) | " + cells.joined(separator: " | ") + " |")
        }
    }
}

/// One tray of a given size, and everything that can be done with it.
struct GrowthRun {
    struct Cost {
        let name: String
        let microseconds: Double
        /// Of memory; 0 where nobody counts.
        let allocations: Double
        /// The longest that others waited; nil where nobody looked.
        let waits: Bystander.Waits?
    }

    let directory: String
    let items: Int
    /// Another user appends and asks for a badge all the time, and the waits are noted.
    let watchesOthers: Bool
    private static let user = "busy"
    private static let batch = 1_000

    init(directory: String, items: Int, watchesOthers: Bool = false) {
        self.directory = directory
        self.items = items
        self.watchesOthers = watchesOthers
    }

    private var threads: Int { max(items / 10, 1) }
    private var categories: Int { max(items / 100, 1) }

    private var options: StoreOptions {
        var options = StoreOptions()
        (options.durability, options.ticking) = (.relaxed, .manual)
        options.mapSizeBytes = 64 << 30
        return options
    }

    func run() throws -> [Cost] {
        // Reopened, so that no flush of the items runs during the measurement.
        let filled = try Store.open(directory, options: options).blocking
        try fill(filled)
        filled.close()
        let store = try Store.open(directory, options: options).blocking
        defer { store.close() }
        return try rest(store) + look(store) + mark(store) + lookBack(store) + wake(store) + widen(store)
            + [meetNewUsers(store)]
    }

    private func command(_ action: Command.Action) -> Command { Command(user: Self.user, action) }

    private func fill(_ store: BlockingStore) throws {
        for start in stride(from: 0, to: items, by: Self.batch) {
            _ = try store.perform(
                (start..<min(start + Self.batch, items)).map { index in
                    command(
                        .notify(
                            Content(
                                thread: "thread-\(index % threads)", category: "category-\(index % categories)",
                                title: "Title \(index)")))
                })
        }
    }

    /// How long others wait when nobody is busy: what the machine adds to each of the figures below.
    private func rest(_ store: BlockingStore) throws -> [Cost] {
        guard watchesOthers else { return [] }
        return [try cost("nothing", 1, store) { _ in Thread.sleep(forTimeInterval: 2) }]
    }

    private func look(_ store: BlockingStore) throws -> [Cost] {
        _ = try store.tray(of: Self.user)
        return [
            try cost("`notify`, then `tray`", 50, store) { index in
                _ = try store.perform(command(.notify(Content(thread: "thread-\(index)", title: "New"))))
                _ = try store.tray(of: Self.user)
            },
            try cost("`tray`, unchanged", 1_000, store) { _ in _ = try store.tray(of: Self.user) },
            try cost("`inbox`, first page", 50, store) { _ in _ = try store.inbox(of: Self.user) },
            try cost("`threads`, first page", 2, store) { _ in _ = try store.threads(of: Self.user) },
        ]
    }

    private func mark(_ store: BlockingStore) throws -> [Cost] {
        func bulk(_ name: String, _ mark: BulkMark, _ filter: @escaping (Int) -> ItemFilter) throws -> Cost {
            try cost(name, 100, store) { index in
                _ = try store.perform(command(.markAll(mark, filter(index))))
                _ = try store.tray(of: Self.user)
            }
        }
        return [
            try bulk("`markAll` of a thread", .read) { ItemFilter(thread: .named("thread-\($0)")) },
            try bulk("`markAll` of a category", .read) { ItemFilter(categories: ["category-\($0)"]) },
            try bulk("`markAll` archived, of a category", .archived) { ItemFilter(categories: ["category-\($0)"]) },
            try bulk("`markAll` of everything", .read) { _ in ItemFilter() },
            try cost("`mark` of 1,000 items", 5, store) { index in
                let first = index * 1_000 % items + 1
                let references = (first..<min(first + 1_000, items)).map { ItemReference.seq(Seq(UInt64($0))) }
                _ = try store.perform(command(.mark(index % 2 == 0 ? .unread : .read, references)))
                _ = try store.tray(of: Self.user)
            },
        ]
    }

    private func lookBack(_ store: BlockingStore) throws -> [Cost] {
        try waitForStates(store)
        let head = UInt64(try store.head())
        let own = Array(try store.history(of: Self.user, newestFirst: true, limit: 121).elements.reversed())
        return [
            try cost("`tray --as-of` five events back", 5, store) { _ in
                _ = try store.tray(of: Self.user, asOf: .seq(Seq(head - 5)))
            },
            try cost("`audit` of 100 events", 2, store) { _ in
                _ = try store.auditReport(of: Self.user, from: .seq(Seq(head - 99)))
            },
            try cost("`diff` over 100 events", 2, store) { _ in
                _ = try store.difference(of: Self.user, from: .seq(Seq(head - 100)), to: .seq(Seq(head)))
            },
            try cost("`undo` of a mark", 5, store) { index in
                _ = try store.perform(command(.undo(event: own[own.startIndex + index].seq)))
                _ = try store.tray(of: Self.user)
            },
        ]
    }

    private func wake(_ store: BlockingStore) throws -> [Cost] {
        let until = Timestamp(milliseconds: 4_000_000_000_000)
        let count = max(items / 10, 1)
        return [
            try cost("`snooze`, each of a tenth", 1, divisor: count, store) { _ in
                for start in stride(from: 1, through: count, by: 100) {
                    let items = start..<min(start + 100, count + 1)
                    _ = try store.perform(items.map { command(.snooze(.seq(Seq(UInt64($0))), until: until)) })
                }
            },
            try cost("tick, each of those", 1, divisor: count, store) { _ in _ = try store.tick(now: until) },
            try wakeOneItemOfMany(count, until, store),
        ]
    }

    /// One broadcast that many users snoozed until one time.
    private func wakeOneItemOfMany(_ count: Int, _ until: Timestamp, _ store: BlockingStore) throws -> Cost {
        func performForAll(_ action: Command.Action) throws {
            for start in stride(from: 0, to: count, by: Self.batch) {
                let users = start..<min(start + Self.batch, count)
                _ = try store.perform(users.map { Command(user: "user-\($0)", action) })
            }
        }
        try performForAll(.subscribe(topic: "everybody"))
        let receipt = try store.perform(Command(user: nil, .broadcast(topic: "everybody", Content(title: "News"))))
        guard let item = receipt.seq else { throw BenchError("the broadcast was not stored") }
        try performForAll(.snooze(.seq(item), until: until))
        try waitForStates(store)
        return try cost("tick, a broadcast snoozed by as many users, each", 1, divisor: count, store) { _ in
            _ = try store.tick(now: until)
        }
    }

    /// Much that a state holds beside its items.
    private func widen(_ store: BlockingStore) throws -> [Cost] {
        let count = max(items / 100, 1)
        _ = try store.perform((0..<count).map { command(.mute(.thread("muted-\($0)"))) })
        try waitForStates(store)
        let muted = try cost("`notify`, then `tray`, with a mute for 100 items", 50, store) { _ in
            _ = try store.perform(command(.notify(Content(thread: "thread-1", title: "New"))))
            _ = try store.tray(of: Self.user)
        }
        _ = try store.perform((0..<count).map { command(.subscribe(topic: "topic-\($0)")) })
        _ = try store.tray(of: Self.user)
        try waitForStates(store)
        let subscribed = try cost("broadcast, then `tray`, with a topic for 100 items", 20, store) { index in
            let content = Content(title: "News")
            _ = try store.perform(Command(user: nil, .broadcast(topic: "topic-\(index % count)", content)))
            _ = try store.tray(of: Self.user)
        }
        return [muted, subscribed]
    }

    /// As many users as the tray has items come to the store, in transactions of 1,000.
    private func meetNewUsers(_ store: BlockingStore) throws -> Cost {
        try waitForStates(store)
        return try cost("`notify` of as many new users, each", 1, divisor: items, store) { _ in
            for start in stride(from: 0, to: items, by: Self.batch) {
                let users = start..<min(start + Self.batch, items)
                _ = try store.perform(users.map { Command(user: "new-\($0)", .notify(Content(title: "Welcome"))) })
            }
        }
    }

    /// Waits until everything is stored, so that no flush runs beside what is measured, and no past query finds more or less
    /// stored than the run before.
    private func waitForStates(_ store: BlockingStore) throws {
        while try store.statistics().unflushed > 0 { Thread.sleep(forTimeInterval: 0.05) }
    }

    private func cost(
        _ name: String, _ count: Int, divisor: Int = 1, _ store: BlockingStore, _ body: (Int) throws -> Void
    ) throws -> Cost {
        let bystander = watchesOthers ? Bystander(store) : nil
        let allocations = try? LibraryCounts.now().allocations
        let start = Stopwatch.processorSeconds
        for index in 0..<count { try body(index) }
        let seconds = Stopwatch.processorSeconds - start
        let more = try allocations.map { try LibraryCounts.now().allocations - $0 } ?? 0
        let divisor = Double(count * divisor)
        return Cost(
            name: name, microseconds: seconds * 1e6 / divisor, allocations: more / divisor, waits: bystander?.stop())
    }
}
