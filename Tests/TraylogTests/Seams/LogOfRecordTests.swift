import TraylogCLibrary
import Synchronization
import TestSupport
import Testing
@_spi(Replication) import Traylog

@_spi(Replication) @testable import TraylogWriter

/// A store whose groups a log of record takes first.
@Suite struct LogOfRecordTests {
    @Test func aLogOfRecordAnswersWhileEveryThreadOfThePoolWaitsForTheStore() async throws {
        try await withStorePath { (path: String) async throws in
            _ = await #expect(processExitsWith: .success) { [path = path as String] in
                // A store that hangs ends the process.
                alarm(120)
                for way in CountingLog.Way.allCases {
                    let log = CountingLog(way)
                    var options = StoreOptions()
                    options.ticking = .manual
                    let store = try Store.open("\(path)-\(way)", options: options, logOfRecord: log)
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for caller in 0..<64 { group.addTask { try performWhileTasksWait(caller, store) } }
                        try await group.waitForAll()
                    }
                    try #require(try await store.log.head() == 64 && log.taken == 64, "\(way)")
                    // Nothing would change, which the log has to confirm.
                    try performWhileTasksWait(64, store)
                    await store.close()
                }
            }
        }
    }

    @Test func tasksOfALogRunAfterItsExecutorIsClosed() async throws {
        let executor = try LogExecutor()
        #expect(await Task(executorPreference: executor) { 7 }.value == 7)
        executor.close()
        #expect(await Task(executorPreference: executor) { 8 }.value == 8)
    }
}

/// Blocks the thread of the task, as a synchronous closure does that a task calls.
private func performWhileTasksWait(_ caller: Int, _ store: Store) throws {
    _ = try store.blocking.perform(.notify("user\(caller)", title: "1", key: "only"))
}

/// A log of record in memory, which awaits in one of several ways before it answers.
private final class CountingLog: LogOfRecord {
    enum Way: String, CaseIterable, Sendable {
        case plain, actor, asyncLet, group, yield
    }

    private actor Place {
        var last: UInt64 = 0

        func next() -> UInt64 {
            last += 1
            return last
        }
    }

    private let way: Way
    private let place = Place()
    private let events = Mutex(0)

    init(_ way: Way) { self.way = way }

    var taken: Int { events.withLock(\.self) }
    let largestGroupBytes = 1 << 20

    func append(_ records: [LogRecord]) async throws(StoreFailure) -> SourcePosition {
        await wander()
        events.withLock { $0 += records.count }
        return SourcePosition(source: "memory", position: await place.next())
    }

    func confirmEnd(at head: Seq) async throws(StoreFailure) { await wander() }

    private func wander() async {
        switch way {
        case .plain: await elsewhere()
        case .actor: _ = await place.last
        case .asyncLet:
            async let one: Void = elsewhere()
            async let two: Void = elsewhere()
            _ = await (one, two)
        case .group:
            await withTaskGroup(of: Void.self) { group in for _ in 0..<3 { group.addTask { await self.elsewhere() } } }
        case .yield: await Task.yield()
        }
    }

    @concurrent private func elsewhere() async {}
}
