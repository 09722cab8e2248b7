import Foundation
import Traylog

/// Single appends, each durable before its caller goes on, by many tasks or threads.
struct CallersMeasure {
    let setup: Setup
    let isBlocking: Bool

    init(_ setup: Setup, isBlocking: Bool = false) {
        self.setup = setup
        self.isBlocking = isBlocking
    }

    func run() async throws -> Figures {
        let store = try Store.open(setup.directory)
        var workload = setup.workload
        let commands = workload.commands(min(setup.events, Workload.pool))
        let (watch, start) = (Stopwatch(), Stopwatch.processorSeconds)
        var latencies = try await append(commands, to: store)
        let (seconds, processor) = (watch.seconds, Stopwatch.processorSeconds - start)
        guard latencies.count == setup.events else { throw BenchError("not every event was stored") }
        await store.close()
        latencies.sort()
        return Figures([
            "perSecond": Double(setup.events) / seconds, "seconds": seconds,
            Metric.processorTime.key: processor * 1e9 / Double(setup.events),
            "p50": latencies[latencies.count / 2], "p99": latencies[latencies.count - 1 - latencies.count / 100],
        ])
    }

    /// The microseconds of each append.
    private func append(_ commands: [Command], to store: Store) async throws -> [Double] {
        let (setup, isBlocking) = (setup, isBlocking)
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for caller in 0..<setup.callers {
                group.addTask {
                    guard isBlocking else { return try await Self.append(commands, of: caller, setup, to: store) }
                    return try await withCheckedThrowingContinuation { continuation in
                        Thread.detachNewThread {
                            continuation.resume(
                                with: Result { try Self.append(commands, of: caller, setup, to: store.blocking) })
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func append(
        _ commands: [Command], of caller: Int, _ setup: Setup, to store: Store
    ) async throws -> [Double] {
        var latencies: [Double] = []
        latencies.reserveCapacity(setup.events / setup.callers + 1)
        for index in stride(from: caller, to: setup.events, by: setup.callers) {
            let watch = Stopwatch()
            _ = try await store.perform(commands[index % commands.count])
            latencies.append(watch.microseconds)
        }
        return latencies
    }

    private static func append(
        _ commands: [Command], of caller: Int, _ setup: Setup, to store: BlockingStore
    ) throws -> [Double] {
        var latencies: [Double] = []
        latencies.reserveCapacity(setup.events / setup.callers + 1)
        for index in stride(from: caller, to: setup.events, by: setup.callers) {
            let watch = Stopwatch()
            _ = try store.perform(commands[index % commands.count])
            latencies.append(watch.microseconds)
        }
        return latencies
    }
}
