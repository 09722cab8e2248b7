@_spi(Operations) @_spi(Replication) import Traylog

/// A store's statistics for people.
struct StatisticsText {
    private let statistics: StoreStatistics

    init(_ statistics: StoreStatistics) { self.statistics = statistics }

    func lines(on terminal: Terminal) -> [String] {
        var facts: [(String, Cell)] = [
            ("head", Cell(statistics.head)), ("floor", Cell(statistics.floor)),
            ("events", Cell(statistics.events.grouped)), ("users", Cell(statistics.users.grouped)),
            ("topics", Cell(statistics.topics.grouped)),
            ("left the log", Cell(statistics.dropped.counted("event"))),
            ("erased", Cell(statistics.erased.counted("user"))),
            ("last event", statistics.lastEventAt.map { Cell(zoned: $0) } ?? Cell("none")),
            ("writer", Cell(statistics.writer?.words ?? "nobody")),
            ("due, no tick", Cell(statistics.overdueWords)),
            ("file", Cell(statistics.bytes.asBytes)), ("free in it", Cell(statistics.freeBytes.asBytes)),
            ("may grow to", Cell(statistics.mapSizeBytes.asBytes)),
            ("unflushed", Cell(statistics.unflushed.counted("event"))),
            ("readers", Cell("\(readers.count), with this program")),
        ]
        if let fork = statistics.history.forks.last {
            facts.append(
                ("copied", Cell("after event \(fork.after); a history of its own since then")))
        }
        if statistics.damagedStates > 0 {
            facts.append(
                ("damaged", Cell("\(statistics.damagedStates.grouped) states: run `traylog replay --rebuild`")))
        }
        return FactsText(facts).lines(on: terminal) + readers(on: terminal) + tables(on: terminal)
            + projections(on: terminal)
    }

    /// The processes that read, each with its oldest snapshot: a server has several.
    private var readers: [(process: String, lag: UInt64)] {
        Dictionary(statistics.readers.map { ($0.pid, $0.lag) }, uniquingKeysWith: max).sorted { $0.key < $1.key }
            .map { ("\($0.key)", $0.value) }
    }

    private func readers(on terminal: Terminal) -> [String] {
        guard !readers.isEmpty else { return [] }
        var table = Table([.whole("PROCESS", .right), .whole("COMMITS BEHIND", .right)], on: terminal)
        return [""] + table.lines(readers.map { [Cell($0.process), Cell($0.lag)] })
    }

    private func projections(on terminal: Terminal) -> [String] {
        guard !statistics.projections.isEmpty else { return [] }
        var table = Table(
            [
                .flexible("PROJECTION"), .whole("VERSION", .right), .whole("UP TO", .right),
                .whole("BEHIND", .right), .whole("SIZE", .right),
            ], on: terminal)
        return [""]
            + table.lines(
                statistics.projections.map { projection in
                    guard projection.damage == nil else {
                        return [Cell(projection.name), Cell("damaged"), Cell(""), Cell(""), Cell("")]
                    }
                    let behind = statistics.head.events(after: projection.position)
                    return [
                        Cell(projection.name), Cell("\(projection.version)"), Cell(projection.position),
                        Cell(behind.grouped), Cell(projection.bytes.asBytes),
                    ]
                })
    }

    private func tables(on terminal: Terminal) -> [String] {
        guard !statistics.tables.isEmpty else { return [] }
        var table = Table([.flexible("TABLE"), .whole("ENTRIES", .right), .whole("SIZE", .right)], on: terminal)
        return [""]
            + table.lines(
                statistics.tables.map { [Cell($0.name), Cell($0.entries.grouped), Cell($0.bytes.asBytes)] })
    }
}

extension StoreStatistics.Writer {
    var words: String { "process \(pid) on \(host) since \(since.zonedText)" }
}
