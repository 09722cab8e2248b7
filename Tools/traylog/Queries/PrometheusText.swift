@_spi(Operations) import Traylog

/// A store's figures in the text format of Prometheus 0.0.4.
struct PrometheusText {
    private let statistics: StoreStatistics
    private let health: StoreHealth

    init(_ statistics: StoreStatistics, _ archives: [ArchiveState], directory: String) {
        self.statistics = statistics
        health = StoreHealth(
            statistics, UpkeepRecord.read(directory), diskFreeBytes: StoreHealth.diskFreeBytes(at: directory),
            damagedStates: statistics.damagedStates, archives: archives)
    }

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
            ("writer", "Whether a process has the store open for writing.", statistics.writer == nil ? "0" : "1"),
        ]
        var lines = gauges.flatMap { Self.gauge($0.name, $0.help, $0.value) }
        if let last = statistics.lastEventAt {
            lines += Self.gauge(
                "last_event_age_seconds",
                "How long ago the newest event was recorded; negative when the clock went back.",
                "\(Age(of: last, at: now).milliseconds / 1_000)")
        }
        var name = ""
        for figure in health.figures {
            if figure.name != name, let help = StoreHealth.figureHelp[figure.name] {
                lines += ["# HELP \(figure.name) \(help)", "# TYPE \(figure.name) gauge"]
            }
            name = figure.name
            let label = figure.label.map { "{\($0)=\"\(Self.quoted(figure.labelValue))\"}" } ?? ""
            let whole = Int64(exactly: figure.value).map(String.init) ?? "\(figure.value)"
            lines.append("\(name)\(label) \(figure.value == .infinity ? "+Inf" : whole)")
        }
        return lines
    }

    private static func gauge(_ name: String, _ help: String, _ value: String) -> [String] {
        ["# HELP traylog_\(name) \(help)", "# TYPE traylog_\(name) gauge", "traylog_\(name) \(value)"]
    }

    /// The value of a label: paths may have any character.
    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
