import TraylogServer
import Foundation
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogCluster

/// Which nodes there are and how far each has come: a bucket with a key for each node, which stays when the node is down.
struct Members: Sendable {
    struct Member: Sendable {
        var url: String
        /// The message through which the node's store is on its disk.
        var position: UInt64
        var head: Seq
        var at: String

        /// Whether it has said something lately; it does each half minute at least.
        var isThere: Bool {
            guard let at = Timestamp(at) else { return false }
            return Timestamp.now - at < .seconds(45)
        }
    }

    private let bucket: Bucket
    private let queue = BrokerQueue("traylog.broker.members")

    /// Makes the bucket where it is missing.
    init(_ connection: any BrokerRequests, stream: String, replicas: Int) throws(BrokerError) {
        bucket = Bucket(jetStream: JetStream(connection: connection), name: "traylog_\(stream)_nodes")
        try bucket.make(lasting: nil, replicas: replicas)
    }

    private static func key(_ url: String) -> String { Array(url.utf8).hex }

    func tell(_ member: Member) async throws(BrokerError) {
        let value: JSONValue = [
            "url": .string(member.url), "position": .int(member.position), "head": JSONValue(member.head),
            "at": .string(member.at),
        ]
        _ = try await queue.run { [bucket] () throws(BrokerError) in
            try bucket.put(Self.key(member.url), value.bytes, replacing: nil)
        }
    }

    func all() async throws(BrokerError) -> [Member] {
        try await queue.run { [bucket] () throws(BrokerError) in
            var members: [Member] = []
            for key in try bucket.keys() {
                guard let (bytes, _) = try bucket.get(key), let value = try? JSONValue(json: bytes),
                    let url = value["url"]?.string
                else { continue }
                members.append(
                    Member(
                        url: url, position: value["position"]?.integer?.within(0...LogPosition.highest) ?? 0,
                        head: value["head"]?.integer?.seq ?? .zero,
                        at: value["at"]?.string ?? ""))
            }
            return members.sorted { $0.url < $1.url }
        }
    }

    /// Removes a node that has left permanently.
    func forget(_ url: String) async throws(BrokerError) {
        try await queue.run { [bucket] () throws(BrokerError) in try bucket.purge(Self.key(url)) }
    }
}

extension [Members.Member] {
    /// How far each has come, by its URL.
    var positions: [String: LogPosition] {
        reduce(into: [:]) { $0[$1.url] = LogPosition(rawValue: $1.position) }
    }
}
