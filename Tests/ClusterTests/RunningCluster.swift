import Foundation
import TestSupport
import Traylog
import TraylogCluster

/// Nodes that run, on one simulated log, in directories of a test.
actor RunningCluster {
    let log: FaultyLog
    private let directory: String
    private var nodes: [ClusterNode] = []

    init(_ directory: String, count: Int, log: FaultyLog) async throws {
        (self.directory, self.log) = (directory, log)
        for index in 0..<count { nodes.append(try await open(index)) }
    }

    var all: [ClusterNode] { nodes }

    private func open(_ index: Int) async throws -> ClusterNode {
        var options = NodeOptions(name: "n\(index)", url: "sim://n\(index)")
        options.timeout = .milliseconds(300)
        options.tickInterval = .milliseconds(20)
        let node = try await ClusterNode.open("\(directory)/\(index)", options, log: log, lease: log)
        await node.start()
        return node
    }

    /// Waits until some node owns.
    func owner() async -> ClusterNode { await first(.owner) }

    func follower() async -> ClusterNode { await first(.follower) }

    private func first(_ role: NodeRole) async -> ClusterNode {
        while true {
            for node in nodes {
                let status = await node.status()
                if status.role == role { return node }
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Stops a node and starts it on its store again.
    func restart(_ index: Int) async throws {
        await nodes[index].stop()
        nodes[index] = try await open(index)
    }

    /// Performs a command as a client with a key does: until it is answered.
    func perform(_ command: Command) async throws -> Receipt {
        while true {
            let node = await owner()
            do throws(TraylogError) {
                return try await node.store.perform(command)
            } catch {
                guard case .failed(let failure) = error, failure.isTransient || failure.code == .closed else {
                    throw error
                }
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Waits until all nodes hold the end of the log.
    func settle() async throws {
        var isSettled = false
        while !isSettled {
            try await Task.sleep(for: .milliseconds(2))
            let end = try await log.bounds().last
            isSettled = true
            for node in nodes {
                let status = await node.status()
                if let divergence = status.divergence { throw Violation(description: "\(divergence)") }
                if status.position != end { isSettled = false }
            }
        }
    }

    func stop() async {
        for node in nodes { await node.stop() }
    }
}

/// Lends a cluster in a directory of its own.
func withCluster(
    _ count: Int = 3, log: FaultyLog = FaultyLog(), _ body: (RunningCluster) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let cluster = try await RunningCluster(directory, count: count, log: log)
        do {
            try await body(cluster)
        } catch {
            await cluster.stop()
            throw error
        }
        await cluster.stop()
    }
}

/// Lends a directory that is gone afterwards.
func withDirectory(_ body: (String) async throws -> Void) async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try await body(url.path)
}
