import ArgumentParser
@_spi(Operations) @_spi(Wire) import Traylog

struct StatsCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show sizes, counts, readers and unflushed events.",
        discussion: """
            With --prometheus the figures have the text format of Prometheus, for the textfile collector of \
            node_exporter; no server is needed. With --watch it prints a line every so many seconds until it is \
            interrupted.

            EXAMPLES
              traylog stats
              traylog stats --json
              traylog stats --prometheus > /var/lib/node_exporter/traylog.prom
              traylog stats --watch 5
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "In the text format of Prometheus.")
    var prometheus = false

    @Option(help: ArgumentHelp("Print a line every so many seconds.", valueName: "seconds"))
    var watch: WireNumber?

    func validate() throws {
        try requireStore()
        _ = try interval
        if prometheus, global.json || watch != nil {
            throw ValidationError("'--prometheus' goes with neither '--json' nor '--watch'.")
        }
    }

    private var interval: Int? { get throws { try watch?.of("--watch", within: 1...86_400) } }

    func run() throws {
        if let interval = try interval { return try follow(every: interval) }
        let (statistics, archives) = try withReader { (try $0.statistics(), prometheus ? try $0.archiveStates() : []) }
        try printing { output in
            if global.json {
                try output.json { $0.write(statistics) }
            } else if prometheus {
                try output.lines(PrometheusText(statistics, archives, directory: directory).lines)
            } else {
                try output.lines(StatisticsText(statistics).lines(on: Terminal(.standardOutput)))
            }
        }
    }

    private func follow(every seconds: Int) throws {
        let isJSON = global.json
        try withStoreReader { reader in
            try EndlessCall.run(writingTo: .standardOutput) {
                let output = Output(.standardOutput)
                var table = Table(Self.columns, on: Terminal(.standardOutput), isEndless: true)
                var before: StoreStatistics?
                while !Task.isCancelled {
                    let now = try await reader.upkeep.statistics()
                    if isJSON {
                        try output.json { $0.write(now) }
                    } else {
                        try output.lines(table.lines([Self.row(now, since: before, seconds: seconds)]))
                    }
                    try output.flush()
                    before = now
                    try await Task.sleep(for: .seconds(seconds))
                }
            }
        }
    }

    private static let columns: [Column] = [
        .time("TIME"), .whole("HEAD", .right), .whole("EVENTS/S", .right), .whole("USERS", .right),
        .whole("UNFLUSHED", .right), .whole("READERS", .right), .whole("LAG", .right), .whole("FILE", .right),
    ]

    private static func row(_ now: StoreStatistics, since before: StoreStatistics?, seconds: Int) -> [Cell] {
        let new = before.map { now.head.events(after: $0.head) } ?? 0
        return [
            Cell(.now), Cell(now.head), Cell(before == nil ? "" : (new / Int(seconds)).grouped),
            Cell(now.users.grouped), Cell(now.unflushed.grouped), Cell(now.readers.count),
            Cell(now.readers.map(\.lag).max() ?? 0), Cell(now.bytes.asBytes),
        ]
    }
}
