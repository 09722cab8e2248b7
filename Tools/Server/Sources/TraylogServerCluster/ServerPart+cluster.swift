import Traylog
import TraylogServer

extension ServerPart {
    /// Experimental: several nodes with one log of record, a stream of NATS JetStream (`--cluster`).
    public static var cluster: ServerPart { ServerPart(cluster: BrokerBackend()) }
}

private struct BrokerBackend: ClusterBackend {
    func claim(_ settings: ClusterSettings, log: ServiceLog) async throws {
        try await Cluster.claim(settings, log: log)
    }

    func start(
        _ settings: ClusterSettings, store directory: String, options: StoreOptions, pass: NodePass, log: ServiceLog
    ) async throws -> any ClusterNodeHost {
        try await Cluster.start(settings, store: directory, options: options, pass: pass, log: log)
    }

    func devices(_ settings: ClusterSettings, log: ServiceLog) async throws -> any Devices {
        try await Cluster.devices(settings, log: log)
    }

    func checkpointKey(_ settings: ClusterSettings, proposing own: String, log: ServiceLog) async throws -> String {
        try await Cluster.checkpointKey(settings, proposing: own, log: log)
    }
}
