import HTTPTypes
import Hummingbird
import Traylog

/// What watches the server: liveness, readiness, figures, and the description of the API.
enum HealthRoutes {
    static var all: [Route] {
        [
            Route(.get, "/healthz", "Whether the server lives", .free) { _ in .json(["status": "ok"]) },
            Route(.get, "/readyz", "Whether the server takes requests", .free) { call in
                guard !call.service.isDraining else { throw Problem.unavailable("the server is closing") }
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
                let text = call.service.metrics.text([
                    ("traylog_head", "The newest event.", "\(statistics.head)"),
                    ("traylog_floor", "The floor of compaction.", "\(statistics.floor)"),
                    ("traylog_tail_events", "Events that the stored states lack.", "\(statistics.unflushed)"),
                    ("traylog_cache_bytes", "The memory of cached states.", "\(statistics.cachedBytes)"),
                    ("traylog_users", "Users.", "\(statistics.users)"),
                    ("traylog_file_bytes", "The size of the store's file.", "\(statistics.bytes)"),
                    ("traylog_free_bytes", "Free pages of it.", "\(statistics.freeBytes)"),
                    ("traylog_live_streams", "Live streams that are open.", "\(call.service.streams.count)"),
                    ("traylog_reader_lag_commits", "The greatest lag of a reader.", "\(lag)"),
                ])
                return Response(
                    status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
            },
            Route(.get, "/openapi.json", "This description", .open) { _ in .json(OpenAPI.document) },
        ]
    }
}
