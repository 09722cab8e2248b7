import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// The store against the naive model, on random histories.
///
/// `TRAYLOG_TESTS=nightly` plays many more seeds; a failure names the seed and the step.
@Suite struct StoreModelTests {
    /// The store's features so far; raise it as commands arrive.
    static let features: HistoryMix.Features = .all

    @Test(arguments: seeds(1, nightly: 100))
    func theStoreAgreesAfterEveryFewCommands(seed: UInt64) throws {
        try play(seed, .typical, steps: 300, checkEvery: 15)
    }

    @Test(arguments: seeds(1, nightly: 100))
    func theStoreAgreesWhenEveryCommandMeetsTheOneBefore(seed: UInt64) throws {
        try play(seed, .crowded, steps: 200, checkEvery: 10)
    }

    @Test(arguments: seeds(1, nightly: 100))
    func theStoreAgreesWithReopeningInBetween(seed: UInt64) throws {
        try play(seed, .typical, steps: 240, checkEvery: 12, reopenPercent: 60)
    }

    @Test(arguments: seeds(1, nightly: 100))
    func theStoreAgreesWhileItFlushesAndEvictsAllTheTime(seed: UInt64) throws {
        try play(seed, .typical, .tiny(), steps: 300, checkEvery: 15, reopenPercent: 20)
    }

    @Test(arguments: seeds(1, nightly: 20))
    func theStoreAgreesWhileManyUsersAreEvicted(seed: UInt64) throws {
        try play(seed, .crowd, .tiny(), steps: 500, checkEvery: 50, reopenPercent: 20, finish: .sample(4))
    }

    @Test(arguments: seeds(1, nightly: 10))
    func theStoreAgreesOnALargeTray(seed: UInt64) throws {
        try play(seed, .heavy, .tiny(), steps: sized(1_000, nightly: 6_000), checkEvery: 250, finish: .sample(40))
    }

    /// Marks by thread and category, undo, collapse, snooze and wake meet in a tray that keeps counts of them.
    @Test(arguments: seeds(1, nightly: 40))
    func theStoreAgreesOnALargeTrayThatIsMarkedInBulk(seed: UInt64) throws {
        try play(seed, .bulky, .tiny(), steps: sized(800, nightly: 4_000), checkEvery: 130, finish: .sample(30))
    }

    @Test(arguments: seeds(1, nightly: 60))
    func theStoreAgreesOnTransactionsAndGroups(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var run = try ModelRun(seed: seed, mix: .typical.with(Self.features)) {
                try Store.open(directory, options: .tiny())
            }
            try run.playBatches(sized(30, nightly: 60), size: 8, checkEvery: 6)
            try run.finish(depth: .sample(20))
        }
    }

    @Test func aRefusedCommandInTheMiddleOfATransactionStoresNothing() throws {
        try withTemporaryDirectory { directory in
            let store: any StoreUnderTest = try Store.open(directory)
            let notify = Command(user: "ann", .notify(Content(title: "A")), key: "k")
            let unknown = Command(user: "ann", .mark(.read, [.seq(99)]))
            #expect(throws: TraylogError.refused(.unknownItem(.seq(99)))) {
                try store.perform([notify, unknown, notify])
            }
            #expect(try store.head() == 0)
            #expect(try store.users(after: nil, limit: .max).elements.isEmpty)
            // A rolled-back command is forgotten completely: the key is free, and so is seq 1.
            #expect(try store.perform([notify, notify]) == [.appended(1), .duplicate(1)])
            store.close()
        }
    }

    @Test func walkingAllPagesShowsWhatWasListedAllAlongExactlyOnce() throws {
        try withTemporaryDirectory { directory in
            var run = try ModelRun(seed: 11, mix: .heavy) { try Store.open(directory, options: .tiny()) }
            try run.play(steps: 300, checkEvery: 300)
            let user = try #require(
                run.naive.users().max { run.naive.tray(of: $0).total < run.naive.tray(of: $1).total })
            var allAlong = Set(run.naive.matches(of: user, InboxQuery()).map(\.seq))
            var shown: [Seq] = []
            var cursor: Cursor?
            repeat {
                let page = try run.store.inbox(of: user, InboxQuery(limit: 7, cursor: cursor))
                shown += page.elements.map(\.seq)
                cursor = page.next
                if let item = page.elements.last {
                    _ = try run.store.perform(Command(user: user, .mark(.deleted, [.seq(item.seq)])))
                    _ = try run.store.perform(Command(user: user, .notify(Content(title: "new"))))
                    allAlong.remove(item.seq)
                }
            } while cursor != nil
            #expect(Set(shown).count == shown.count)
            #expect(allAlong.subtracting(shown).isEmpty)
            run.store.close()
        }
    }

    /// Which order the tasks' commands got is in the log alone, and the log says everything.
    @Test func commandsOfManyTasksAtOnceAgreeWithTheirLog() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store.open(directory.path, options: .tiny())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in UInt64(0)..<8 {
                group.addTask {
                    var generator = HistoryGenerator(seed: task, mix: .typical)
                    var naive = NaiveStore()
                    for _ in 0..<60 {
                        guard case .command(let command) = generator.next(given: naive) else { continue }
                        _ = naive.perform(command, now: generator.now)
                        do { _ = try await store.perform(command) } catch TraylogError.refused {}
                    }
                }
            }
            try await group.waitForAll()
        }
        let naive = NaiveStore(replaying: try await store.log.events(from: 1, limit: .max).elements)
        #expect(naive.head > 100)
        var comparison = try Comparison(store, naive, seed: 1)
        try comparison.check(users: naive.users(), depth: .sample(10))
        await store.close()
    }
}

private func play(
    _ seed: UInt64, _ mix: HistoryMix, _ options: StoreOptions = manual, steps: Int, checkEvery: Int,
    reopenPercent: Int = 0, finish: Comparison.Depth = .sample(60)
) throws {
    try withTemporaryDirectory { directory in
        var run = try ModelRun(seed: seed, mix: mix.with(StoreModelTests.features)) {
            try Store.open(directory, options: options)
        }
        try run.play(steps: halved(steps), checkEvery: checkEvery, reopenPercent: reopenPercent)
        try run.reopen()
        try run.finish(depth: isLong && mix.users <= 6 ? .full : finish)
        let naive = run.naive
        try within("seed \(seed), replay") {
            let report = try Replay.run(directory: directory) { _, _ in }
            #expect(report.identical, "seed \(seed): \(report.differences)")
            // The same of a moment between the floor and the head.
            let floor = naive.floor.rawValue
            let moment = floor + (naive.head.rawValue - floor) * (seed % 10) / 10
            let past = try Replay.run(directory: directory, asOf: .seq(Seq(moment))) { _, _ in }
            #expect(past.identical, "seed \(seed), as of \(moment): \(past.differences)")
            _ = try Rebuild.run(directory: directory) { _, _ in }
            let again = try Replay.run(directory: directory) { _, _ in }
            #expect(again.identical, "seed \(seed), rebuilt: \(again.differences)")
            let store = try Store.open(directory, options: options)
            defer { store.close() }
            var comparison = try Comparison(store, naive, seed: seed)
            try comparison.check(users: Array(naive.users().prefix(6)), depth: .sample(5))
        }
    }
}

/// Time is what the history says.
private var manual: StoreOptions {
    var options = StoreOptions()
    options.ticking = .manual
    options.accountsForCommits = true
    return options
}
