import Metrics
import Synchronization
@_spi(Operations) import Traylog

/// Records what the server does with swift-metrics: for its own `/metrics`, and in the backend of the app that it is a part of.
package final class ServerMetrics: Sendable {
    /// A figure of the moment.
    struct Figure: Sendable {
        let label: String
        let value: Double
        let dimensions: [(String, String)]

        init(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
            (self.label, self.value, self.dimensions) = (label, value, dimensions)
        }
    }

    private struct RequestKind: Hashable {
        let route: String
        let method: String
        let status: Int
    }

    private static let help = ownHelp.merging(StoreHealth.figureHelp) { $1 }

    private static let ownHelp = [
        "traylog_head": "The newest event.",
        "traylog_floor": "The floor of compaction.",
        "traylog_tail_events": "Events that the stored states lack.",
        "traylog_cache_bytes": "The memory of cached states.",
        "traylog_users": "Users.",
        "traylog_file_bytes": "The size of the store's file.",
        "traylog_free_bytes": "Free pages of it.",
        "traylog_reader_lag_commits": "The greatest lag of a reader.",
        "traylog_live_streams": "Live streams that are open.",
        "traylog_long_polls": "Long polls that wait.",
        "traylog_witness_state":
            "How a witness is doing: 0 for well, 1 where it did not cosign the last checkpoint, 2 where it knows another log.",
        "traylog_cluster_role": "1 for what the node does: owner, follower, catchingUp or diverged.",
        "traylog_cluster_position": "The message of the log of record that the store holds.",
        "traylog_cluster_lag_events": "Events of the log of record that the store lacks.",
        "traylog_cluster_lag_seconds": "How long ago the store held all of them.",
        "traylog_broker_lag_messages": "Messages of the stream that a broker lacks.",
        "traylog_broker_current": "1 for a broker that is there and keeps up.",
        "traylog_server_failures_total": "Answers with a status of 500 or above.",
        "traylog_requests_total": "Requests that were answered.",
        "traylog_limited_total":
            "Requests and connections that were refused because a caller had enough of the server.",
        "traylog_request_seconds": "Time from a request's head to its answer.",
        "traylog_group_wait_seconds": "How long the first command of a group waited for it.",
        "traylog_group_write_seconds": "Writing a group of appends, its sync included.",
        "traylog_group_events_total": "Events of all groups.",
        "traylog_flush_seconds": "Bringing stored states up to the log.",
        "traylog_tick_seconds": "Waking and expiring what is due.",
        "traylog_woken_total": "Items that ticks woke.",
        "traylog_expired_total": "Items that ticks let expire.",
        "traylog_compactions_total": "Compactions by policy.",
        "traylog_background_failures_total": "Work in the background that failed and is tried again.",
    ]

    private let log: ServiceLog
    private let prometheus = PrometheusMetrics(help: help)
    /// Nil where the app has none, as in the program.
    private let appBackend: (any MetricsFactory)?
    /// Of both.
    private let factory: any MetricsFactory
    private let requests = Mutex<[RequestKind: (answered: Counter, latency: Timer)]>([:])
    /// Of each backend one, since what several backends share cannot be destroyed.
    private let meters = Mutex<[PrometheusMetrics.Series: [Meter]]>([:])
    private let failures: Counter
    private let groupEvents: Counter
    private let groupWaits: Timer
    private let groupWrites: Timer
    private let flushes: Timer
    private let ticks: Timer
    private let woken: Counter
    private let expired: Counter
    private let compactions: Counter

    init(log: ServiceLog) {
        self.log = log
        let backend = MetricsSystem.factory
        appBackend = backend is NOOPMetricsHandler ? nil : backend
        let factory: any MetricsFactory =
            if let appBackend { MultiplexMetricsHandler(factories: [prometheus, appBackend]) } else { prometheus }
        self.factory = factory
        func counter(_ label: String) -> Counter { Counter(label: label, factory: factory) }
        func timer(_ label: String) -> Timer { Timer(label: label, factory: factory) }
        failures = counter("traylog_server_failures_total")
        groupEvents = counter("traylog_group_events_total")
        groupWaits = timer("traylog_group_wait_seconds")
        groupWrites = timer("traylog_group_write_seconds")
        flushes = timer("traylog_flush_seconds")
        ticks = timer("traylog_tick_seconds")
        woken = counter("traylog_woken_total")
        expired = counter("traylog_expired_total")
        compactions = counter("traylog_compactions_total")
        // A rate needs the 0 before the first failure.
        let works: [BackgroundWork] = [.tick, .flush, .sync, .compaction, .rebuild, .closing, .location, .projection]
        for work in works { faults(of: work).increment(by: 0) }
        for limit in Admission.Kind.allCases { limited(limit).increment(by: 0) }
    }

    /// Whether an app gets the figures, too.
    var isShared: Bool { appBackend != nil }

    package func note(route: String, method: String, status: Int, duration: Duration) {
        // Anybody may invent a method, and each kind of request has a counter.
        let method = Self.methods.contains(method) ? method : "other"
        let kind = RequestKind(route: route, method: method, status: status)
        let (answered, latency) = requests.withLock { requests in
            if let known = requests[kind] { return known }
            let dimensions = [("method", method), ("route", route), ("status", String(status))]
            let new = (
                answered: Counter(label: "traylog_requests_total", dimensions: dimensions, factory: factory),
                latency: Timer(label: "traylog_request_seconds", dimensions: [("route", route)], factory: factory)
            )
            requests[kind] = new
            return new
        }
        answered.increment()
        latency.record(duration: duration)
        if status >= 500 { failures.increment() }
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    func note(limit: Admission.Kind) { limited(limit).increment() }

    private func limited(_ limit: Admission.Kind) -> Counter {
        Counter(label: "traylog_limited_total", dimensions: [("limit", limit.rawValue)], factory: factory)
    }

    /// Sets the figures of the moment, and takes away those that are no longer among them.
    func set(_ figures: [Figure]) {
        let factories: [any MetricsFactory] = if let appBackend { [prometheus, appBackend] } else { [prometheus] }
        meters.withLock { meters in
            var old = meters
            meters = [:]
            for figure in figures {
                let series = PrometheusMetrics.Series(figure.label, figure.dimensions)
                let same =
                    old.removeValue(forKey: series)
                    ?? factories.map { Meter(label: figure.label, dimensions: figure.dimensions, factory: $0) }
                for meter in same { meter.set(figure.value) }
                meters[series] = same
            }
            for meter in old.values.joined() { meter.destroy() }
        }
    }

    /// The text of `/metrics`.
    func text() -> String { prometheus.text() }

    private func faults(of work: BackgroundWork) -> Counter {
        Counter(
            label: "traylog_background_failures_total", dimensions: [("work", work.rawValue)], factory: factory)
    }
}

extension ServerMetrics: StoreObserver {
    package func observe(_ activity: StoreActivity) {
        switch activity {
        case .committed(let events, _, let waited, let writing):
            groupEvents.increment(by: events)
            groupWaits.record(duration: waited)
            groupWrites.record(duration: writing)
        case .flushed(let writing): flushes.record(duration: writing)
        case .ticked(let woken, let expired, let duration):
            self.woken.increment(by: woken)
            self.expired.increment(by: expired)
            ticks.record(duration: duration)
        case .compacted: compactions.increment()
        case .rebuilt(let cause): log.write([("background", .string("rebuild")), ("after", .string("\(cause)"))])
        case .clockBehind(let lag):
            log.write([("clock", .string("behind the log: set it")), ("seconds", .int(lag.components.seconds))])
        case .failed(let work, let error):
            log.write([("background", .string(work.rawValue)), ("error", .string("\(error)"))])
            faults(of: work).increment()
        default: break
        }
    }
}
