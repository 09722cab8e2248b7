@_spi(Operations) import Traylog

/// A store's figures in the text format of Prometheus 0.0.4.
struct PrometheusText {
    private let statistics: StoreStatistics

    init(_ statistics: StoreStatistics) { self.statistics = statistics }

    var lines: [String] {
        let now = Timestamp.now
        let gauges: [(name: String, help: String, value: String)] = [
            ("head", "The newest event.", "\(statistics.head)"),
            ("floor", "The floor of compaction.", "\(statistics.floor)"),
            ("events", "Events in the log.", "\(statistics.events)"),
            ("dropped_events", "Events that compactions took out of the log.", "\(statistics.dropped)"),
            ("users", "Users.", "\(statistics.users)"),
            ("topics", "Topics with broadcasts.", "\(statistics.topics)"),
            ("tail_events", "Events that the stored states lack.", "\(statistics.unflushed)"),
            ("file_bytes", "The size of the data file.", "\(statistics.bytes)"),
            ("free_bytes", "Free pages in it.", "\(statistics.freeBytes)"),
            ("map_size_bytes", "How large it may grow.", "\(statistics.mapSizeBytes)"),
            ("readers", "Read transactions that are open.", "\(statistics.readers.count)"),
            ("reader_lag_commits", "The greatest lag of a reader.", "\(statistics.readers.map(\.lag).max() ?? 0)"),
            ("damaged_states", "Stored states with a wrong checksum.", "\(statistics.damagedStates)"),
            ("overdue", "What is due and no tick has taken care of, up to 1,000.", "\(statistics.overdue)"),
            ("writer", "Whether a process has the store open for writing.", statistics.writer == nil ? "0" : "1"),
        ]
        var lines = gauges.flatMap { Self.gauge($0.name, $0.help, $0.value) }
        if let last = statistics.lastEventAt {
            lines += Self.gauge(
                "last_event_age_seconds",
                "How long ago the newest event was recorded; negative when the clock went back.",
                "\(Age(of: last, at: now).milliseconds / 1_000)")
        }
        return lines
    }

    private static func gauge(_ name: String, _ help: String, _ value: String) -> [String] {
        ["# HELP traylog_\(name) \(help)", "# TYPE traylog_\(name) gauge", "traylog_\(name) \(value)"]
    }
}
