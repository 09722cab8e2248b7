import ArgumentParser
import Traylog

/// One run of one case in a process of its own, as its reference has one: started by ``Run``.
struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs one case once on Traylog.", shouldDisplay: false)

    @Argument var benchCase: BenchCase
    @Option var directory: String
    @Option var events: Int

    func run() async throws {
        let store = try Store.open(directory)
        var workload = Workload(users: BenchCase.users)
        // Built beforehand and used again in turn: what is measured is the store, without a pause that a background
        // flush could use, and not the making of strings.
        let commands = workload.commands(min(events, 200_000))
        guard commands.allSatisfy({ Workload.recordBytes(of: $0) == Workload.recordBytes }) else {
            throw BenchError("the commands do not make records of \(Workload.recordBytes) bytes")
        }
        let clock = ContinuousClock()
        let start = clock.now
        switch benchCase {
        case .bulk100k: try await Self.appendBatches(commands, events: events, to: store)
        case .concurrent64, .concurrent1:
            try await Self.appendConcurrently(commands, callers: benchCase.callers, events: events, to: store)
        }
        let elapsed = start.duration(to: clock.now)
        guard try await store.head() == Seq(UInt64(events)) else { throw BenchError("not every event was stored") }
        let beforeClose = clock.now
        store.close()
        let result = Measurement(
            seconds: elapsed / .seconds(1), eventsPerSecond: Double(events) / (elapsed / .seconds(1)),
            closeSeconds: beforeClose.duration(to: clock.now) / .seconds(1), syncsPerSecond: nil)
        print(try result.json)
    }

    /// By a few callers, so that one transaction is encoded while the one before it is written.
    private static func appendBatches(_ commands: [Command], events: Int, to store: Store) async throws {
        let batches = stride(from: 0, to: commands.count, by: BenchCase.batch).map { start in
            Array(commands[start..<min(start + BenchCase.batch, commands.count)])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<BenchCase.bulk100k.callers {
                group.addTask {
                    let first = caller * BenchCase.batch
                    for start in stride(from: first, to: events, by: BenchCase.bulk100k.callers * BenchCase.batch) {
                        let batch = batches[start / BenchCase.batch % batches.count]
                        let rest = events - start
                        _ = try await store.perform(batch.count <= rest ? batch : Array(batch.prefix(rest)))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func appendConcurrently(
        _ commands: [Command], callers: Int, events: Int, to store: Store
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    for index in stride(from: caller, to: events, by: callers) {
                        _ = try await store.perform(commands[index % commands.count])
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
