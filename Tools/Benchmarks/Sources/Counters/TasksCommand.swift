import ArgumentParser
import Foundation
import Traylog

/// Many tasks that perform durably and then ask, as a server's do; alone, and while others read the log at length.
struct TasksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks", abstract: "Measures tasks that perform and ask, alone and beside long reads.")

    @Option(help: "Tasks.")
    var tasks = 1_000

    @Option(help: "Pairs of a durable perform and a tray that each task makes.")
    var rounds = 30

    @Option(help: "Events in the store, all of which the long reads read.")
    var events = 300_000

    @Option(help: "Where the store is made and removed.")
    var directory = FileManager.default.temporaryDirectory.path

    func run() async throws {
        let directory = try RunDirectory(under: directory)
        defer { directory.remove() }
        let store = try Store.open(try directory.fresh())
        var workload = Workload(users: 10_000, .uniform)
        for batch in workload.batches(events, size: 1_000) { _ = try await store.perform(batch, mode: .each) }
        for title in ["first, to warm up", "alone"] { report(title, try await pairs(store)) }
        let readers = (0..<2).map { _ in Task { try await read(store) } }
        report("beside two readers of \(events) events", try await pairs(store))
        for reader in readers { reader.cancel() }
        var passes = 0
        for reader in readers { passes += try await reader.value }
        print("the readers read the whole log \(passes) times")
        try await trays(store)
        await store.close()
    }

    /// The milliseconds of each pair, ascending, and the pairs a second.
    private func pairs(_ store: Store) async throws -> (milliseconds: [Double], perSecond: Double) {
        let (tasks, rounds) = (tasks, rounds)
        let watch = Stopwatch()
        let all = try await withThrowingTaskGroup(of: [Double].self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var milliseconds: [Double] = []
                    for _ in 0..<rounds {
                        let watch = Stopwatch()
                        try await store.notify("task-\(task)", title: "A request of a server")
                        _ = try await store.tray(of: "task-\(task)")
                        milliseconds.append(watch.milliseconds)
                    }
                    return milliseconds
                }
            }
            return try await group.reduce(into: [Double]()) { $0 += $1 }
        }
        return (all.sorted(), Double(tasks * rounds) / watch.seconds)
    }

    private func report(_ title: String, _ pairs: (milliseconds: [Double], perSecond: Double)) {
        let (times, count) = (pairs.milliseconds, pairs.milliseconds.count)
        print(
            "\(title): "
                + String(
                    format: "%.0f pairs/s, p50 %.1f ms, p99 %.1f ms, worst %.1f ms", pairs.perSecond, times[count / 2],
                    times[count - 1 - count / 100], times[count - 1]))
    }

    /// Reads the log again and again, in as long parts as a caller may ask for.
    private func read(_ store: Store) async throws -> Int {
        var passes = 0
        while !Task.isCancelled {
            guard try await store.log.events(limit: events).elements.count == events else {
                throw BenchError("events are missing")
            }
            passes += 1
        }
        return passes
    }

    /// `await tray` beside the blocking one, by as many tasks as processors.
    private func trays(_ store: Store) async throws {
        let (count, processors) = (200_000, ProcessInfo.processInfo.activeProcessorCount)
        func rate(_ ask: @escaping @Sendable (String) async throws -> Void) async throws -> Double {
            let watch = Stopwatch()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<processors {
                    group.addTask { for index in 0..<count { try await ask("task-\((index + task) % 100)") } }
                }
                try await group.waitForAll()
            }
            return Double(count * processors) / watch.seconds
        }
        let awaited = try await rate { _ = try await store.tray(of: $0) }
        // What the compiler warns of: it is measured here.
        @Sendable func ask(_ user: String) throws { _ = try store.blocking.tray(of: user) }
        let blocking = try await rate { try ask($0) }
        print(
            String(
                format: "await tray %.0f/s, blocking tray %.0f/s, %.2f of it", awaited, blocking, awaited / blocking))
    }
}
