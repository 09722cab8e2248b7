import ArgumentParser
import Foundation
import Traylog

/// Removes messages from the stream that nobody needs any more.
struct TrimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Remove from the cluster's stream what every node and a backup hold.",
        discussion: "A node that is down counts too: once it has left for good, name it with --forget.")

    @OptionGroup var options: ClusterOptions

    @Option(help: "The directory of a backup of one of the nodes.")
    var backup: String

    @Option(help: "The URL of a node that has left for good; may be repeated.")
    var forget: [String] = []

    @Flag(help: "Say what would be removed, and remove nothing.")
    var dryRun = false

    func run() async throws {
        let stream = try options.name()
        let connection = try BrokerConnection(options.brokers(), isPatient: false)
        let reader = try await Task { [backup] in try StoreReader.open(backup) }.value
        guard let held = try await reader.sourcePosition(), held.source == stream else {
            throw ConfigurationError("\(backup) is no backup of a node of the stream \(stream)")
        }
        let members = try Members(connection, stream: stream, replicas: 1)
        for url in forget { try await members.forget(url) }
        let nodes = try await members.all()
        guard !nodes.isEmpty else { throw ConfigurationError("no node has said yet how far it has come") }
        let through = min(held.position, nodes.map(\.position).min() ?? 0)
        let queue = BrokerQueue("traylog.broker.trim")
        let before = try await Self.bounds(stream, connection, queue)
        if !dryRun, through >= before.first {
            _ = try await queue.run { () throws(BrokerError) in
                try JetStream(connection: connection).ask("STREAM.PURGE.\(stream)", ["seq": .int(through + 1)])
            }
        }
        let after = try await Self.bounds(stream, connection, queue)
        let report: JSONValue = [
            "stream": .string(stream), "through": .int(through), "first": .int(after.first), "last": .int(after.last),
            "removed": .int(after.first - before.first), "backup": .int(held.position),
            "nodes": .array(
                nodes.map { ["url": .string($0.url), "position": .int($0.position), "at": .string($0.at)] }),
        ]
        print(String(decoding: report.bytes, as: UTF8.self))
    }

    private static func bounds(
        _ stream: String, _ connection: BrokerConnection, _ queue: BrokerQueue
    ) async throws -> (first: UInt64, last: UInt64) {
        let info = try await queue.run { () throws(BrokerError) in try JetStream(connection: connection).stream(stream)
        }
        guard let state = info?["state"], let first = state["first_seq"]?.integer, let last = state["last_seq"]?.integer
        else { throw ConfigurationError("the brokers have no stream \(stream)") }
        return (max(first, 1), last)
    }
}
