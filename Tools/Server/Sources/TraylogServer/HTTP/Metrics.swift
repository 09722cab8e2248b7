import Synchronization
import Traylog

/// A figure of the moment.
package struct Gauge: Sendable {
    package let name: String
    package let help: String
    package let value: String
    /// Each `name="value"`.
    let labels: [String]

    init(_ name: String, _ help: String, _ value: String, _ labels: [String] = []) {
        (self.name, self.help, self.value, self.labels) = (name, help, value, labels)
    }
}

/// Counts of what the server did, as Prometheus reads them.
package final class Metrics: Sendable {
    private static let bounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct Histogram {
        private var counts = [UInt64](repeating: 0, count: Metrics.bounds.count)
        private var count: UInt64 = 0
        private var seconds = 0.0

        mutating func add(_ time: Double) {
            for (index, bound) in Metrics.bounds.enumerated() where time <= bound { counts[index] += 1 }
            count += 1
            seconds += time
        }

        /// - Parameter labels: `route="…"`, or nothing.
        func text(_ name: String, _ labels: String = "") -> String {
            let also = labels.isEmpty ? "" : labels + ","
            let own = labels.isEmpty ? "" : "{\(labels)}"
            let buckets = zip(Metrics.bounds.map { "\($0)" } + ["+Inf"], counts + [count])
                .map { "\(name)_bucket{\(also)le=\"\($0)\"} \($1)\n" }
            return buckets.joined() + "\(name)_sum\(own) \(seconds)\n\(name)_count\(own) \(count)\n"
        }
    }

    private struct RequestKind: Hashable {
        let route: String
        let method: String
        let status: Int

        var labels: String { "method=\"\(method)\",route=\"\(route)\",status=\"\(status)\"" }
    }

    private struct Counts {
        var requests: [RequestKind: UInt64] = [:]
        var latencies: [String: Histogram] = [:]
        var failures: UInt64 = 0
        var groupEvents: UInt64 = 0
        var groupWaits = Histogram()
        var groupWrites = Histogram()
        var flushes = Histogram()
        var ticks = Histogram()
        var woken: UInt64 = 0
        var expired: UInt64 = 0
        var compactions: UInt64 = 0
        var faults: [BackgroundWork: UInt64] = [
            .tick: 0, .flush: 0, .sync: 0, .compaction: 0, .closing: 0, .location: 0, .projection: 0,
        ]
    }

    private let counts = Mutex(Counts())
    private let log: ServiceLog

    init(log: ServiceLog) { self.log = log }

    package func note(route: String, method: String, status: Int, seconds: Double) {
        counts.withLock { counts in
            counts.requests[RequestKind(route: route, method: method, status: status), default: 0] += 1
            if status >= 500 { counts.failures += 1 }
            counts.latencies[route, default: Histogram()].add(seconds)
        }
    }

    /// The text of `/metrics`, with figures of the store in front.
    package func text(_ gauges: [Gauge]) -> String {
        var text = ""
        func head(_ name: String, _ help: String, _ type: String) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        }
        for (index, gauge) in gauges.enumerated() where !gauges[..<index].contains(where: { $0.name == gauge.name }) {
            head(gauge.name, gauge.help, "gauge")
            for gauge in gauges[index...] where gauge.name == gauges[index].name {
                let labels = gauge.labels.isEmpty ? "" : "{\(gauge.labels.joined(separator: ","))}"
                text += "\(gauge.name)\(labels) \(gauge.value)\n"
            }
        }
        counts.withLock { counts in
            head("traylog_server_failures_total", "Answers with a status of 500 or above.", "counter")
            text += "traylog_server_failures_total \(counts.failures)\n"
            head("traylog_requests_total", "Requests that were answered.", "counter")
            for (labels, count) in counts.requests.map({ ($0.key.labels, $0.value) }).sorted(by: { $0.0 < $1.0 }) {
                text += "traylog_requests_total{\(labels)} \(count)\n"
            }
            head("traylog_request_seconds", "Time from a request's head to its answer.", "histogram")
            for (route, histogram) in counts.latencies.sorted(by: { $0.key < $1.key }) {
                text += histogram.text("traylog_request_seconds", "route=\"\(route)\"")
            }
            for (name, help, histogram) in [
                (
                    "traylog_group_wait_seconds", "How long the first command of a group waited for it.",
                    counts.groupWaits
                ),
                ("traylog_group_write_seconds", "Writing a group of appends, its sync included.", counts.groupWrites),
                ("traylog_flush_seconds", "Bringing stored states up to the log.", counts.flushes),
                ("traylog_tick_seconds", "Waking and expiring what is due.", counts.ticks),
            ] {
                head(name, help, "histogram")
                text += histogram.text(name)
            }
            for (name, help, count) in [
                ("traylog_group_events_total", "Events of all groups.", counts.groupEvents),
                ("traylog_woken_total", "Items that ticks woke.", counts.woken),
                ("traylog_expired_total", "Items that ticks let expire.", counts.expired),
                ("traylog_compactions_total", "Compactions by policy.", counts.compactions),
            ] {
                head(name, help, "counter")
                text += "\(name) \(count)\n"
            }
            head(
                "traylog_background_failures_total", "Work in the background that failed and is tried again.", "counter"
            )
            for (work, count) in counts.faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                text += "traylog_background_failures_total{work=\"\(work.rawValue)\"} \(count)\n"
            }
        }
        return text
    }
}

extension Metrics: StoreObserver {
    package func observe(_ activity: StoreActivity) {
        if case .failed(let work, let error) = activity {
            log.write([("background", .string(work.rawValue)), ("error", .string("\(error)"))])
        }
        counts.withLock { counts in
            switch activity {
            case .committed(let events, _, let waited, let writing):
                counts.groupEvents += events
                counts.groupWaits.add(waited / .seconds(1))
                counts.groupWrites.add(writing / .seconds(1))
            case .flushed(let writing): counts.flushes.add(writing / .seconds(1))
            case .ticked(let woken, let expired, let duration):
                counts.woken += woken
                counts.expired += expired
                counts.ticks.add(duration / .seconds(1))
            case .compacted: counts.compactions += 1
            case .failed(let work, _): counts.faults[work, default: 0] += 1
            default: break
            }
        }
    }
}
