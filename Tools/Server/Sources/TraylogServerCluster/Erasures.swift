import TraylogServer
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogCluster

/// The erasures of a log: they may last longer than the node that made them, until the stream is trimmed.
struct Erasures: Sendable {
    struct Erasure: Sendable {
        /// The position of the message that announced it.
        let position: LogPosition
        /// The report of the erasure.
        let outcome: JSONValue
    }

    private let bucket: Bucket
    private let queue = BrokerQueue("traylog.broker.erasures")

    /// Makes the bucket where it is missing.
    init(_ connection: any BrokerRequests, stream: String, replicas: Int) throws(BrokerError) {
        bucket = Bucket(jetStream: JetStream(connection: connection), name: "traylog_\(stream)_erasures")
        try bucket.make(lasting: nil, replicas: replicas)
    }

    func keep(_ erasure: Erasure, _ id: String) async throws(BrokerError) {
        let value: JSONValue = ["position": .int(erasure.position.rawValue), "outcome": erasure.outcome]
        _ = try await queue.run { [bucket] () throws(BrokerError) in
            try bucket.put(id, value.bytes, replacing: nil)
        }
    }

    /// - Parameter id: as the caller gave it; nil comes back for one that is no job's.
    func find(_ id: String) async throws(BrokerError) -> Erasure? {
        guard [UInt8](hex: id)?.isEmpty == false else { return nil }
        return try await queue.run { [bucket] () throws(BrokerError) in
            guard let (bytes, _) = try bucket.get(id), let value = try? JSONValue(json: bytes),
                let position = value["position"]?.integer?.within(0...LogPosition.highest),
                let outcome = value["outcome"]
            else { return nil }
            return Erasure(position: LogPosition(rawValue: position), outcome: outcome)
        }
    }
}
