import Foundation
import Synchronization
import TestSupport
import Testing
import TraylogDomain
import TraylogPlatform

@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogQueries
@testable import TraylogWriter

/// The effect of cancelling a task on its calls on a store (the table of Docs/reference/library.md).
@Suite struct CancelledCallTests {
    private func isCancellation(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return false
        } catch {
            return (error as? TraylogError)?.isCancellation == true
        }
    }

    /// A store with some history, for one task after the other.
    private func withFilledStore(_ body: (Store, String) async throws -> Void) async throws {
        try await withStorePath { (path: String) async throws in
            let store = try Store.open(path, options: options(isRelaxed: true))
            for part in 0..<4 {
                try await store.perform(
                    (0..<500).map { .notify("user\($0 % 7)", title: "t", thread: "\(part).\($0)") })
            }
            try await body(store, path)
            await store.close()
        }
    }

    // MARK: Queries

    /// Every query that may take long, and the checks.
    private static let scans: [(name: String, scan: @Sendable (BlockingReader, String) throws -> Void)] = [
        ("search", { store, _ in _ = try store.events(matching: EventFilter()) }),
        (
            "search of a user",
            { store, _ in
                var filter = EventFilter()
                filter.user = "user1"
                _ = try store.events(matching: filter, newestFirst: true)
            }
        ),
        ("history", { store, _ in _ = try store.history(of: "user1", limit: .max) }),
        ("events", { store, _ in _ = try store.events(newestFirst: true, limit: .max) }),
        ("users", { store, _ in _ = try store.users(asOf: .seq(1_500)) }),
        ("audit", { store, _ in _ = try store.auditReport(of: "user1") }),
        ("treeHead", { store, _ in _ = try store.treeHead(asOf: .seq(1_900)) }),
        ("statistics", { store, _ in _ = try store.statistics() }),
        ("verify", { store, _ in _ = try store.verify() }),
        ("replay", { store, _ in _ = try store.replay() }),
    ]

    @Test(arguments: scans.indices)
    func aLongScanIsGivenUpBetweenItsParts(index: Int) async throws {
        let (name, scan) = Self.scans[index]
        try await withFilledStore { store, path in
            let error = await onThread { () -> TraylogError? in
                let cancellation = Cancellation()
                cancellation.cancel()
                do {
                    try Cancellation.bind(cancellation) { try scan(store.blocking, path) }
                    return nil
                } catch {
                    return error as? TraylogError
                }
            }
            #expect(error?.isCancellation == true, "\(name): \(String(describing: error))")
            // The next one is answered.
            try await onThread { try scan(store.blocking, path) }
        }
    }

    @Test func aWaitingQueryIsAnsweredWhenItsTaskIsCancelled() async throws {
        try await withFilledStore { store, _ in
            let gate = Gate()
            let holders = (0..<2).map { _ in
                Task { try await store.queries.longPool.run { () throws(TraylogError) in gate.pass() } }
            }
            let asked = Task { try await store.log.events(matching: EventFilter()) }
            let job = Task { try await store.history(of: "user1") }
            asked.cancel()
            // It is answered although nobody is free.
            #expect(await isCancellation { _ = try await asked.value })
            gate.open()
            for holder in holders { try await holder.value }
            #expect(try await job.value.elements.count > 0)
        }
    }

    @Test func aCancelledTaskAsksNothing() async throws {
        try await withFilledStore { store, path in
            let calls: [(String, @Sendable (Store) async throws -> Void)] = [
                ("inbox", { _ = try await $0.inbox(of: "user1") }),
                ("perform", { try await $0.notify("x", title: "1") }),
                ("perform(mode:)", { _ = try await $0.perform([.notify("x", title: "1")], mode: .each) }),
                ("tick", { try await $0.tick() }), ("hold", { try await $0.upkeep.hold("user1") }),
                ("verify", { _ = try await $0.upkeep.verify() }), ("replay", { _ = try await $0.replay() }),
                ("backup", { try await $0.upkeep.backup(to: path + "-copy") }),
                ("updateBackup", { try await $0.upkeep.updateBackup(in: path + "-copy") }),
                ("compact", { try await $0.upkeep.compact(before: .seq(100)) }),
                ("erase", { try await $0.erase("user1") }),
                ("storeTree", { try await $0.storeTree() }),
            ]
            let head = try await store.log.head()
            for (name, call) in calls {
                let gate = AsyncStream<Void>.makeStream()
                let task = Task {
                    for await _ in gate.stream {}
                    try await call(store)
                }
                task.cancel()
                gate.continuation.finish()
                #expect(await isCancellation { try await task.value }, "\(name)")
            }
            #expect(try await store.log.head() == head)
            #expect(!FileManager.default.fileExists(atPath: path + "-copy"))
            #expect(try await store.upkeep.isHeld("user1") == false)
        }
    }

    // MARK: Commands

    @Test func aCommandThatWaitsIsWithdrawn() async throws {
        try await withFilledStore { store, _ in
            let head = try await store.log.head()
            let (gate, isHeld) = (Gate(), Gate())
            store.writer.perform(
                { _ in
                    isHeld.open()
                    gate.pass()
                }, answer: { _ in })
            await onThread { isHeld.pass() }
            let first = Task { try await store.notify("ann", title: "1") }
            let second = Task { try await store.notify("bob", title: "2") }
            await onThread { while store.writer.waiting < 2 { OSThread.sleep(milliseconds: 1) } }
            first.cancel()
            // Although the writer does something else.
            #expect(await isCancellation { _ = try await first.value })
            gate.open()
            #expect(try await second.value.seq == head + 1)
            #expect(try await store.tray(of: "ann").total == 0)
        }
    }

    /// A cancelled command is not stored, and a command with a receipt is.
    @Test(arguments: UInt64(1)...sized(2, nightly: 40))
    func noCommandIsStoredAndAnsweredAsCancelled(seed: UInt64) async throws {
        try await withStorePath { (path: String) async throws in
            let store = try Store.open(path, options: options(isRelaxed: seed % 2 == 0))
            var random = SeededRandom(seed: seed)
            let outcomes = Monitor<(stored: Set<String>, cancelled: Set<String>)>(([], []))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<600 {
                    let pause = random.next() % 400
                    group.addTask {
                        let key = "k\(number)"
                        let task = Task { try await store.notify("user\(number % 5)", title: "1", key: key) }
                        if number % 3 != 0 {
                            try? await Task.sleep(for: .microseconds(Int64(pause)))
                            task.cancel()
                        }
                        do {
                            _ = try await task.value
                            outcomes.withLock { _ = $0.stored.insert(key) }
                        } catch {
                            #expect((error as? TraylogError)?.isCancellation == true, "seed \(seed): \(error)")
                            outcomes.withLock { _ = $0.cancelled.insert(key) }
                        }
                    }
                }
            }
            let (stored, cancelled) = outcomes.withLock { ($0.stored, $0.cancelled) }
            let keys = Set(try await store.log.events(limit: .max).elements.compactMap(\.key))
            #expect(keys == stored, "seed \(seed)")
            #expect(keys.isDisjoint(with: cancelled) && stored.count + cancelled.count == 600, "seed \(seed)")
            await store.close()
            #expect(try replay(path).identical, "seed \(seed)")
        }
    }

    /// The task may be cancelled at the moment in which it hands the command over, so that both sides know of each other.
    @Test func aCommandCancelledWhileItIsHandedOverIsAnsweredOnce() {
        let hasher = IdentityHasher(key0: 1, key1: 2)
        let cancelled = TraylogError.cancelled("here")
        for round in 0..<sized(4_000, nightly: 1_000_000) {
            let answers = Atomic(0)
            let admitted = Atomic(false)
            let request = AppendRequest(PreparedCommands([notify("ann")], hasher: hasher), mode: .atomic) { _ in
                answers.add(1, ordering: .relaxed)
            }
            let withdrawal = AppendRequest.Withdrawal()
            DispatchQueue.concurrentPerform(iterations: 2) { side in
                if side == round % 2 {
                    withdrawal.cancel()?.withdraw(cancelled)
                } else {
                    admitted.store(withdrawal.admits(request, orElse: cancelled), ordering: .relaxed)
                }
            }
            // A queued command is withdrawn before the writer takes it.
            #expect(answers.load(ordering: .relaxed) == 1, "admitted: \(admitted.load(ordering: .relaxed))")
        }
    }

    // MARK: Long work

    @Test func aCancelledBackupLeavesNothing() async throws {
        try await withFilledStore { store, path in
            let copy = path + "-copy"
            let error = await onThread { () -> TraylogError? in
                do throws(TraylogError) {
                    try store.blocking.backup(to: copy) { _, _ in throw CancellationError() }
                    return nil
                } catch {
                    return error
                }
            }
            // A copy that took less than a tenth of a second did not ask.
            if let error {
                #expect(error.isCancellation)
                #expect(!FileManager.default.fileExists(atPath: copy))
            } else {
                try FileManager.default.removeItem(atPath: copy)
            }
            #expect(try await store.upkeep.backup(to: copy).head == 2_000)
        }
    }

    @Test func aCheckIsGivenUpByItsProgress() async throws {
        try await withFilledStore { store, _ in
            let error = await onThread { () -> TraylogError? in
                do throws(TraylogError) {
                    _ = try store.blocking.verify { _, _ in throw CancellationError() }
                    return nil
                } catch {
                    return error
                }
            }
            #expect(error?.isCancellation == true)
        }
    }

    // MARK: Swift's own error

    @Test func cancellationBecomesSwiftsErrorWhereItIsWanted() async throws {
        let store = try Store.temporary()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await TraylogError.translatingCancellation {
                try await store.log.events(matching: EventFilter())
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await #expect(throws: Refusal.self) {
            try await TraylogError.translatingCancellation { throw Refusal.invalid(field: "f", reason: "r") }
        }
        await store.close()
    }

    // MARK: Order

    private final class Named: PooledJob {
        let name: String
        let priority: UInt8

        init(_ name: String, _ priority: TaskPriority) { (self.name, self.priority) = (name, priority.rawValue) }

        func run(_ observer: (any StoreObserver)?, holding pool: WorkPool) {}
        func fail(_ error: TraylogError) {}
    }

    @Test func higherPrioritiesBeginFirstAndEqualOnesInTheirOrder() {
        var queue = WorkQueue()
        for number in 0..<3 { queue.add(Named("low\(number)", .background)) }
        for number in 0..<3 { queue.add(Named("high\(number)", .high)) }
        var names: [String] = []
        while let job = queue.next() as? Named { names.append(job.name) }
        // The fourth is the one that has waited longest.
        #expect(names == ["high0", "high1", "high2", "low0", "low1", "low2"])
        #expect(queue.count == 0)
    }

    @Test func aLowPriorityIsNotStarved() {
        var queue = WorkQueue()
        queue.add(Named("low", .background))
        var taken = 0
        while true {
            queue.add(Named("high", .high))
            taken += 1
            guard let job = queue.next() as? Named, job.name != "low" else { break }
        }
        #expect(taken <= WorkQueue.turns)
    }
}
