import ArgumentParser
import Foundation

/// The options of a server that is one of several.
package struct ClusterOptions: ParsableArguments {
    @Option(help: "The brokers, nats://HOST:PORT with commas between: their stream is the log of record.")
    package var cluster: String?

    @Option(help: "The stream's name; it is made where it is missing.")
    package var stream: String?

    @Option(help: "The URL at which the other nodes reach this one.")
    package var advertise: String?

    @Option(help: "The brokers' monitoring pages, http://HOST:PORT with commas between; port 8222 of each without it.")
    package var monitor: String?

    @Option(help: "A node whose store is copied, where there is none yet.")
    package var seed: String?

    @Option(
        help: "Into how many parts users are divided, each with a stream and a store; it never changes. 1 without it.")
    package var partitions: String?

    @Flag(help: "Start on brokers that may lose events; for trying it out.")
    var allowUnsafeLog = false

    package init() {}

    package init(
        cluster: String?, stream: String?, advertise: String?, monitor: String?, seed: String?, partitions: String?,
        allowUnsafeLog: Bool
    ) {
        (self.cluster, self.stream, self.advertise, self.partitions) = (cluster, stream, advertise, partitions)
        (self.monitor, self.seed, self.allowUnsafeLog) = (monitor, seed, allowUnsafeLog)
    }

    /// - Returns: nil where no cluster is asked for.
    package func settings(isDev: Bool) throws -> ClusterSettings? {
        guard cluster != nil else {
            for (name, value) in [
                ("stream", stream), ("advertise", advertise), ("monitor", monitor), ("seed", seed),
                ("partitions", partitions),
            ] {
                if value != nil { throw ConfigurationError("--\(name) is for a server with --cluster") }
            }
            if allowUnsafeLog { throw ConfigurationError("--allow-unsafe-log is for a server with --cluster") }
            return nil
        }
        if isDev {
            throw ConfigurationError("--dev makes keys of its own; the nodes of a cluster share a file: --keys FILE")
        }
        guard let advertise else {
            throw ConfigurationError("--advertise URL must say where the other nodes reach this one")
        }
        let brokers = try brokers()
        return ClusterSettings(
            brokers: brokers, stream: try name(), advertise: try Self.base(advertise, "--advertise"),
            monitors: try monitors(of: brokers), seed: try seed.map { try Self.base($0, "--seed") },
            allowsUnsafeLog: allowUnsafeLog, partitions: try map())
    }

    private func map() throws -> PartitionMap {
        guard let partitions else { return PartitionMap(count: 1) }
        guard let count = Int(partitions), (1...PartitionMap.most).contains(count) else {
            throw ConfigurationError("--partitions must be 1 to \(PartitionMap.most)")
        }
        return PartitionMap(count: count)
    }

    package func brokers() throws -> [String] {
        let urls = Self.list(cluster)
        guard !urls.isEmpty, urls.allSatisfy({ URL(string: $0)?.host != nil && $0.contains("://") }) else {
            throw ConfigurationError("--cluster must be nats://HOST:PORT, with commas between")
        }
        return urls
    }

    package func name() throws -> String {
        guard let stream, (1...128).contains(stream.utf8.count),
            stream.utf8.allSatisfy({ byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: "-")
            })
        else { throw ConfigurationError("--stream NAME must be letters, digits, - and _") }
        return stream
    }

    private func monitors(of brokers: [String]) throws -> [String] {
        guard monitor == nil else { return try Self.list(monitor).map { try Self.base($0, "--monitor") } }
        return brokers.compactMap { URL(string: $0)?.host }.map { "http://\(Listener.text($0)):8222" }
    }

    private static func list(_ text: String?) -> [String] {
        text?.split(separator: ",").map(\.trimmingSpaces) ?? []
    }

    /// A URL without a path, as requests are appended to it.
    private static func base(_ text: String, _ option: String) throws -> String {
        guard let url = URL(string: text), url.host != nil, url.scheme == "http" || url.scheme == "https",
            url.query == nil, text.utf8.count <= 256
        else { throw ConfigurationError("\(option) must be http://HOST:PORT or https://HOST:PORT, not \(text)") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}

/// The options put together.
package struct ClusterSettings: Sendable {
    package var brokers: [String]
    package var stream: String
    package var advertise: String
    package var monitors: [String]
    package var seed: String?
    package var allowsUnsafeLog: Bool
    package var partitions: PartitionMap
    /// Of them, which this is.
    package var partition = 0

    /// Three, or as many as there are for trying it out.
    package var replicas: Int { allowsUnsafeLog && brokers.count < 3 ? 1 : 3 }

    /// Those of one partition.
    package func of(_ partition: Int) -> ClusterSettings {
        var settings = self
        settings.partition = partition
        settings.stream = partitions.stream(stream, partition)
        return settings
    }
}
