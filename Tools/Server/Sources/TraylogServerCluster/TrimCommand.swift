import TraylogServer
import ArgumentParser
import Foundation
@_spi(Replication) import Traylog
import TraylogCluster

/// Removes messages from the stream that nobody needs any more.
package struct TrimCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Experimental: remove from the cluster's stream what every node and a backup hold.",
        discussion: "A stopped node still blocks trimming: once it has left permanently, name it with --forget.")

    package init() {}

    @OptionGroup var options: ClusterOptions

    @Option(help: "The directory of a backup of one of the nodes.")
    var backup: String

    @Option(help: "The URL of a node that has left permanently; may be repeated.")
    var forget: [String] = []

    @Flag(help: "Say what would be removed, and remove nothing.")
    var dryRun = false

    package func run() async throws {
        let name = try options.name()
        let connection = try BrokerConnection(options.brokers(), retries: false)
        let reader = try await StoreReader.opened(backup)
        guard let held = try await reader.sourcePosition(),
            held.source == name || Self.isPartition(held.source, of: name)
        else { throw ConfigurationError("\(backup) is no backup of a node of the stream \(name)") }
        // A backup of one partition trims its stream.
        let stream = held.source
        let members = try Members(connection, stream: stream, replicas: 1)
        for url in forget { try await members.forget(url) }
        let nodes = try await members.all()
        guard !nodes.isEmpty else { throw ConfigurationError("no node has said yet how far it has come") }
        let queue = BrokerQueue("traylog.broker.trim")
        let before = try await Self.bounds(stream, connection, queue)
        let retention = LogRetention(nodes: nodes.positions, backup: LogPosition(rawValue: held.position))
        let kept = retention.firstKept(of: before)
        if !dryRun, kept > before.first {
            _ = try await queue.run { () throws(BrokerError) in
                try JetStream(connection: connection).ask("STREAM.PURGE.\(stream)", ["seq": .int(kept.rawValue)])
            }
        }
        let after = try await Self.bounds(stream, connection, queue)
        let report: JSONValue = [
            "stream": .string(stream), "through": .int(kept.rawValue - min(kept.rawValue, 1)),
            "first": .int(after.first.rawValue),
            "last": .int(after.last.rawValue),
            "removed": .int(after.first.rawValue - min(after.first.rawValue, before.first.rawValue)),
            "backup": .int(held.position),
            "nodes": .array(
                nodes.map { ["url": .string($0.url), "position": .int($0.position), "at": .string($0.at)] }),
        ]
        print(String(decoding: report.bytes, as: UTF8.self))
    }

    private static func isPartition(_ stream: String, of name: String) -> Bool {
        guard stream.hasPrefix(name + "-"), let index = Int(stream.dropFirst(name.count + 1)) else { return false }
        return PartitionMap(count: PartitionMap.most).stream(name, index) == stream
    }

    private static func bounds(
        _ stream: String, _ connection: BrokerConnection, _ queue: BrokerQueue
    ) async throws -> LogBounds {
        let bounds = try await queue.run { () throws(BrokerError) in
            try JetStream(connection: connection).bounds(stream)
        }
        guard let bounds else { throw ConfigurationError("the brokers have no stream \(stream)") }
        return bounds
    }
}
