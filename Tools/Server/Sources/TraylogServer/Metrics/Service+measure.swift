@_spi(Operations) import Traylog
import TraylogCluster

extension Service {
    /// Measures the stores of a server for its metrics; with several partitions, each figure names its partition.
    static func measure(_ services: [Service]) async {
        var figures: [ServerMetrics.Figure] = []
        for (index, service) in services.enumerated() {
            let dimensions = services.count > 1 ? [("partition", String(index))] : []
            figures +=
                await service.figures(dimensions) + service.healthFigures(dimensions)
                + service.witnessFigures(dimensions)
            if let cluster = service.cluster { figures += await clusterFigures(cluster, dimensions) }
        }
        figures.append(.init("traylog_live_streams", Double(services[0].answers.count)))
        figures.append(.init("traylog_long_polls", Double(services[0].answers.polls)))
        services[0].metrics.set(figures)
    }

    /// The store's sizes; none of a store that cannot be read.
    private func figures(_ dimensions: [(String, String)]) async -> [ServerMetrics.Figure] {
        guard let statistics = try? await store.upkeep.statistics(checkingStates: false) else { return [] }
        return [
            ("traylog_head", Double(UInt64(statistics.head))),
            ("traylog_floor", Double(UInt64(statistics.floor))),
            ("traylog_tail_events", Double(statistics.unflushed)),
            ("traylog_cache_bytes", Double(statistics.cachedBytes)),
            ("traylog_users", Double(statistics.users)),
            ("traylog_file_bytes", Double(statistics.bytes)),
            ("traylog_free_bytes", Double(statistics.freeBytes)),
            ("traylog_reader_lag_commits", Double(statistics.readers.map(\.lag).max() ?? 0)),
        ].map { .init($0, $1, dimensions) }
    }

    /// The figures of the store's health.
    private func healthFigures(_ dimensions: [(String, String)]) async -> [ServerMetrics.Figure] {
        await health().figures.map { figure in
            .init(figure.name, figure.value, dimensions + (figure.label.map { [($0, figure.labelValue)] } ?? []))
        }
    }

    private func witnessFigures(_ dimensions: [(String, String)]) -> [ServerMetrics.Figure] {
        (witnesses?.figures ?? []).map { name, trouble in
            .init("traylog_witness_state", Double(trouble.rawValue), dimensions + [("witness", name)])
        }
    }

    private static func clusterFigures(
        _ cluster: any ClusterNodeHost, _ dimensions: [(String, String)]
    ) async -> [ServerMetrics.Figure] {
        let status = await cluster.status()
        var figures: [ServerMetrics.Figure] = [
            .init("traylog_cluster_role", 1, dimensions + [("role", status.role.rawValue)]),
            .init("traylog_cluster_position", Double(status.position.rawValue), dimensions),
            .init("traylog_cluster_lag_events", Double(status.lagEvents), dimensions),
            .init(
                "traylog_cluster_lag_seconds", Double(max(0, status.lag.milliseconds)) / 1_000, dimensions),
        ]
        for broker in await cluster.brokerLags() {
            let dimensions = dimensions + [("broker", broker.name)]
            figures.append(.init("traylog_broker_lag_messages", Double(broker.lag), dimensions))
            figures.append(.init("traylog_broker_current", broker.isCurrent ? 1 : 0, dimensions))
        }
        return figures
    }
}
