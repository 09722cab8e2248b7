import HTTPTypes
import Hummingbird
import Traylog
import TraylogCluster

/// What watches the server: liveness, readiness, figures, and the description of the API.
enum HealthRoutes {
    static var all: [Route] {
        [
            Route(.get, "/healthz", "Whether the server lives", .free) { _ in .json(["status": "ok"]) },
            Route(.get, "/readyz", "Whether the server takes requests", .free) { call in
                guard !call.service.isDraining else { throw Problem.unavailable("the server is closing") }
                if let cluster = call.service.cluster { return readiness(await cluster.status()) }
                // A tick of long ago changes nothing, and the writer answers it.
                let report = await Deadline.abandoning(after: .seconds(5)) {
                    try await call.store.tick(now: Timestamp(milliseconds: 0))
                }
                guard let report else { throw Problem.unavailable("the store does not answer") }
                return .json(["status": "ok", "head": JSONValue(report.head)])
            },
            Route(.get, "/metrics", "Figures for Prometheus", .key(.metrics), answers: "text/plain; version=0.0.4") {
                call in
                let statistics = try await call.store.statistics()
                let lag = statistics.readers.map(\.lag).max() ?? 0
                let figures = [
                    ("traylog_head", "The newest event.", "\(statistics.head)"),
                    ("traylog_floor", "The floor of compaction.", "\(statistics.floor)"),
                    ("traylog_tail_events", "Events that the stored states lack.", "\(statistics.unflushed)"),
                    ("traylog_cache_bytes", "The memory of cached states.", "\(statistics.cachedBytes)"),
                    ("traylog_users", "Users.", "\(statistics.users)"),
                    ("traylog_file_bytes", "The size of the store's file.", "\(statistics.bytes)"),
                    ("traylog_free_bytes", "Free pages of it.", "\(statistics.freeBytes)"),
                    ("traylog_live_streams", "Live streams that are open.", "\(call.service.streams.count)"),
                    ("traylog_reader_lag_commits", "The greatest lag of a reader.", "\(lag)"),
                ]
                let cluster = if let cluster = call.service.cluster { await Self.figures(of: cluster) } else { "" }
                let text = call.service.metrics.text(figures) + cluster
                return Response(
                    status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
            },
            Route(.get, "/openapi.json", "This description", .open) { _ in .json(OpenAPI.document) },
        ]
    }

    /// A node that lacks events, or stopped, is not ready; it says how far it is all the same.
    private static func readiness(_ status: NodeStatus) -> Response {
        let isReady = status.role == .owner || status.role == .follower
        var members: [(name: String, value: JSONValue)] = [
            ("head", JSONValue(status.head)), ("role", .string(status.role.rawValue)),
            ("position", .int(status.position.rawValue)),
            ("lag", ["events": .int(status.lagEvents), "seconds": .number(status.lag.secondsText)]),
        ]
        if let owner = status.owner { members.append(("owner", .string(owner.url))) }
        if let divergence = status.divergence { members.append(("seq", JSONValue(divergence.seq))) }
        guard !isReady else { return .json(.object([("status", "ok")] + members)) }
        var problem = Problem.unavailable(
            status.divergence?.description ?? status.trouble ?? "this node is catching up with the log of record")
        problem.members += members
        return problem.response
    }

    private static func figures(of cluster: Cluster) async -> String {
        let status = await cluster.status()
        var text = """
            # HELP traylog_cluster_role 1 for what the node does: owner, follower, catchingUp or diverged.
            # TYPE traylog_cluster_role gauge
            traylog_cluster_role{role="\(status.role.rawValue)"} 1
            # HELP traylog_cluster_position The message of the log of record that the store holds.
            # TYPE traylog_cluster_position gauge
            traylog_cluster_position \(status.position)
            # HELP traylog_cluster_lag_events Events of the log of record that the store lacks.
            # TYPE traylog_cluster_lag_events gauge
            traylog_cluster_lag_events \(status.lagEvents)
            # HELP traylog_cluster_lag_seconds How long ago the store held all of them.
            # TYPE traylog_cluster_lag_seconds gauge
            traylog_cluster_lag_seconds \(status.lag.secondsText)

            """
        let brokers = await cluster.brokerLags()
        guard !brokers.isEmpty else { return text }
        text += "# HELP traylog_broker_lag_messages Messages that a broker lacks of the stream.\n"
        text += "# TYPE traylog_broker_lag_messages gauge\n"
        for broker in brokers { text += "traylog_broker_lag_messages{broker=\"\(broker.name)\"} \(broker.lag)\n" }
        text += "# HELP traylog_broker_current 1 for a broker that is there and keeps up.\n"
        text += "# TYPE traylog_broker_current gauge\n"
        for broker in brokers {
            text += "traylog_broker_current{broker=\"\(broker.name)\"} \(broker.isCurrent ? 1 : 0)\n"
        }
        return text
    }
}

extension Duration {
    /// Seconds with three digits after the point.
    fileprivate var secondsText: String {
        let thousandths = String(max(0, milliseconds) % 1_000)
        return "\(max(0, milliseconds) / 1_000)." + String(repeating: "0", count: 3 - thousandths.count) + thousandths
    }
}
