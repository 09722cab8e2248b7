import ArgumentParser
import Foundation
@_spi(Operations) import Traylog
import TraylogAudit
import TraylogCluster

/// How fast a node of a cluster follows, beside `replay` of the same events, and how fast it decides, beside a store alone.
struct FollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Measures a node of a cluster on a log in memory.")

    @Option(help: "Events.")
    var events = 1_000_000

    @Option(help: "Events in a message.")
    var group = 500

    @Option(help: "Where the stores are made and removed.")
    var directory = FileManager.default.temporaryDirectory.path

    func run() async throws {
        let directory = try RunDirectory(under: directory)
        defer { directory.remove() }
        var workload = Workload(users: 10_000, .uniform)
        let commands = workload.batches(events, size: group)
        var options = StoreOptions()
        options.durability = .relaxed
        options.ticking = .manual

        let alone = try directory.fresh()
        let store = try Store.open(alone, options: options)
        let aloneSeconds = try await seconds {
            for commands in commands { _ = try await store.perform(commands, mode: .each) }
        }
        await store.close()

        let log = MemoryLog()
        let owner = try await ClusterNode.open(
            try directory.fresh(), NodeOptions(name: "owner", url: ""), log: log, lease: log)
        await owner.start()
        while await owner.status().role != .owner { try await Task.sleep(for: .milliseconds(1)) }
        let ownerSeconds = try await seconds {
            for commands in commands { _ = try await owner.store.perform(commands, mode: .each) }
        }
        let head = try await owner.store.log.head()

        let follower = try await ClusterNode.open(
            try directory.fresh(), NodeOptions(name: "follower", url: ""), log: log, lease: log)
        let followSeconds = try await seconds {
            await follower.start()
            _ = try await follower.wait(for: head, atMost: .seconds(3_600))
        }
        guard try await follower.store.proofs.treeHead() == owner.store.proofs.treeHead() else {
            throw BenchError("the logs differ")
        }
        await follower.stop()
        await owner.stop()

        let reader = try StoreReader.open(alone)
        let report = try await reader.replay()
        let replaySeconds = Double(report.events) / Double(report.eventsPerSecond)
        print("\(events) events in groups of \(group)")
        line("a store alone, relaxed", aloneSeconds)
        line("the owner, with a log in memory", ownerSeconds)
        line("a follower", followSeconds)
        line("replay", replaySeconds)
        print("follower : replay = \(String(format: "%.2f", replaySeconds / followSeconds))")
    }

    private func line(_ what: String, _ seconds: Double) {
        print("\(what): \(String(format: "%.2f s, %.0f events/s", seconds, Double(events) / seconds))")
    }

    private func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let watch = Stopwatch()
        try await body()
        return watch.seconds
    }
}

/// A log without a network, and a lease that the first one keeps.
private actor MemoryLog: ReplicatedLog, OwnershipLease {
    nonisolated let name = "BENCH"
    nonisolated let largestBody = 1 << 20
    nonisolated let duration = Duration.seconds(5)
    private var messages: [LogMessage] = []
    private var holder: Ownership?

    private var last: LogPosition { LogPosition(rawValue: UInt64(messages.count)) }

    func publish(id: String, root: MerkleHash, body: [UInt8], expecting expected: LogPosition) -> PublishOutcome {
        guard expected == last else { return .wrongPosition(last: last) }
        messages.append(LogMessage(position: last.next, id: id, root: root, body: body))
        return .accepted(at: last, isDuplicate: false)
    }

    func message(at position: LogPosition) -> LogMessage? {
        position > .start && position <= last ? messages[Int(position.rawValue) - 1] : nil
    }

    func messages(after position: LogPosition, limit: Int, wait: Duration) async -> [LogMessage] {
        if position == last { try? await Task.sleep(for: min(wait, .milliseconds(5))) }
        return Array(messages[Int(position.rawValue)...].prefix(limit))
    }

    func bounds() -> LogBounds { LogBounds(first: LogPosition(rawValue: 1), last: last) }

    func acquire(node: String, url: String) -> Ownership? {
        if holder == nil { holder = Ownership(epoch: 1, node: node, url: url) }
        return holder?.node == node ? holder : nil
    }

    func renew(_ ownership: Ownership) -> Ownership? { ownership }
    func release(_ ownership: Ownership) {}
    func current() -> Ownership? { holder }
}
