import Hummingbird
import HummingbirdTesting
import Metrics
import MetricsTestKit
import Testing

@testable import TraylogServer

struct MetricsTests {
    @Test func anAppsBackendOfSwiftMetricsIsGivenTheFigures() async throws {
        let backend = TestMetrics()
        try await withMetricsFactory(backend) { () async throws in
            try await ServedStore.opened { server, key in
                var app = Application(
                    responder: server.responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
                app.addServices(server)
                try await app.test(.live) { client in
                    let store = ServedStore(key: key, server: server, client: client)
                    _ = try await store.send(.post, "/v1/users/ann/notifications", #"{"title":"Hello"}"#)
                    _ = try await store.send(.get, "/v1/users/ann/tray")
                    // The service measures the store while the app runs, whether or not anybody reads `/metrics`.
                    while backend.meters(label: "traylog_head").isEmpty { await Task.yield() }
                    let text = try await String(buffer: store.send(.get, "/metrics").body)
                    #expect(text.contains("\ntraylog_head 1\n"))
                }
            }
        }
        let tray = [("method", "GET"), ("route", "/v1/users/{u}/tray"), ("status", "200")]
        #expect(backend.counterTotal(label: "traylog_requests_total", dimensions: tray) == 1)
        #expect(backend.counterTotal(label: "traylog_group_events_total") == 1)
        #expect(try !backend.expectTimer("traylog_group_write_seconds").values.isEmpty)
        #expect(try backend.expectMeter("traylog_head").lastValue == 1)
    }

    @Test func countersAddUpAndAreZeroUntilThen() {
        let metrics = PrometheusMetrics(help: ["a_total": "What a is."])
        let counter = Counter(label: "a_total", factory: metrics)
        #expect(metrics.text() == "# HELP a_total What a is.\n# TYPE a_total counter\na_total 0\n")
        counter.increment(by: 2)
        // A second request for the same metric adds to it.
        Counter(label: "a_total", factory: metrics).increment()
        #expect(metrics.text().hasSuffix("\na_total 3\n"))
    }

    @Test func aHistogramsBucketCountsAllThatIsNotAboveItsBound() {
        let metrics = PrometheusMetrics(help: [:])
        let timer = Timer(label: "t", dimensions: [("route", "/r")], factory: metrics)
        let durations: [Duration] = [.milliseconds(1), .milliseconds(2), .seconds(60)]
        for duration in durations { timer.record(duration: duration) }
        let lines = metrics.text().split(separator: "\n")
        #expect(lines.first == "# TYPE t histogram")
        for (bound, count) in [("0.0005", 0), ("0.001", 1), ("0.0025", 2), ("10.0", 2), ("+Inf", 3)] {
            #expect(lines.contains("t_bucket{route=\"/r\",le=\"\(bound)\"} \(count)"))
        }
        #expect(lines.suffix(2) == ["t_sum{route=\"/r\"} 60.003", "t_count{route=\"/r\"} 3"])
    }

    @Test func labelsAreEscapedAndNamesSaidOnce() {
        let metrics = PrometheusMetrics(help: ["m": "What m is."])
        Meter(label: "m", dimensions: [("of", "b")], factory: metrics).set(1.5)
        Meter(label: "m", dimensions: [("of", "a\"\\\n")], factory: metrics).set(2)
        #expect(
            metrics.text() == "# HELP m What m is.\n# TYPE m gauge\nm{of=\"a\\\"\\\\\\n\"} 2\nm{of=\"b\"} 1.5\n")
    }

    @Test func aFigureThatIsNoLongerMeasuredIsGoneFromEachBackend() throws {
        let backend = TestMetrics()
        let metrics = withMetricsFactory(backend) { ServerMetrics(log: ServiceLog()) }
        let (owner, follower) = ([("role", "owner")], [("role", "follower")])
        metrics.set([.init("traylog_cluster_role", 1, follower)])
        metrics.set([.init("traylog_cluster_role", 1, owner)])
        #expect(!metrics.text().contains("follower\"} 1"))
        #expect(metrics.text().contains("traylog_cluster_role{role=\"owner\"} 1\n"))
        #expect(backend.meters(label: "traylog_cluster_role", dimensions: follower).isEmpty)
        #expect(try backend.expectMeter("traylog_cluster_role", owner).lastValue == 1)
    }
}
