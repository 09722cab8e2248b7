import ArgumentParser
import Traylog

struct StatsCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show sizes, counts, readers and what is not flushed yet.",
        discussion: """
            EXAMPLES
              traylog stats
              traylog stats --json
            """)

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let statistics = try withReader { try $0.statistics() }
        try printing { output in
            if global.json {
                try output.json { $0.write(statistics) }
            } else {
                try output.lines(StatisticsText(statistics).lines(on: Terminal(.standardOutput)))
            }
        }
    }
}
