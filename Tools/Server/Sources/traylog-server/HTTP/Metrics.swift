import Synchronization

/// Counts of what the server did, as Prometheus reads them.
final class Metrics: Sendable {
    private static let bounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct Histogram {
        var counts = [UInt64](repeating: 0, count: Metrics.bounds.count)
        var count: UInt64 = 0
        var seconds = 0.0
    }

    private struct Counts {
        var requests: [String: UInt64] = [:]
        var latencies: [String: Histogram] = [:]
        var failures: UInt64 = 0
    }

    private let counts = Mutex(Counts())

    func note(route: String, method: String, status: Int, seconds: Double) {
        counts.withLock { counts in
            counts.requests["method=\"\(method)\",route=\"\(route)\",status=\"\(status)\"", default: 0] += 1
            if status >= 500 { counts.failures += 1 }
            var histogram = counts.latencies[route] ?? Histogram()
            for (index, bound) in Self.bounds.enumerated() where seconds <= bound { histogram.counts[index] += 1 }
            histogram.count += 1
            histogram.seconds += seconds
            counts.latencies[route] = histogram
        }
    }

    /// The text of `/metrics`, with figures of the store in front.
    func text(_ gauges: [(name: String, help: String, value: String)]) -> String {
        var text = ""
        func head(_ name: String, _ help: String, _ type: String) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        }
        for gauge in gauges {
            head(gauge.name, gauge.help, "gauge")
            text += "\(gauge.name) \(gauge.value)\n"
        }
        counts.withLock { counts in
            head("traylog_server_failures_total", "Answers with a status of 500 or above.", "counter")
            text += "traylog_server_failures_total \(counts.failures)\n"
            head("traylog_requests_total", "Requests that were answered.", "counter")
            for (labels, count) in counts.requests.sorted(by: { $0.key < $1.key }) {
                text += "traylog_requests_total{\(labels)} \(count)\n"
            }
            head("traylog_request_seconds", "Time from a request's head to its answer.", "histogram")
            for (route, histogram) in counts.latencies.sorted(by: { $0.key < $1.key }) {
                for (bound, count) in zip(Self.bounds, histogram.counts) {
                    text += "traylog_request_seconds_bucket{route=\"\(route)\",le=\"\(bound)\"} \(count)\n"
                }
                text += "traylog_request_seconds_bucket{route=\"\(route)\",le=\"+Inf\"} \(histogram.count)\n"
                text += "traylog_request_seconds_sum{route=\"\(route)\"} \(histogram.seconds)\n"
                text += "traylog_request_seconds_count{route=\"\(route)\"} \(histogram.count)\n"
            }
        }
        return text
    }
}
