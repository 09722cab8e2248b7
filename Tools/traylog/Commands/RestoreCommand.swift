import ArgumentParser
@_spi(JSON) @_spi(Operations) import Traylog

struct RestoreCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Make a store from the lines of an export.",
        discussion: """
            The log becomes the same to the byte; trays and counts are derived from it. The store must be missing or \
            empty. Every line is checked: the first one that is not as it was exported ends the command with exit \
            status 65 and its number. A store that was not finished, for whatever reason, cannot be opened; repeat the \
            command, or delete the directory. Where the export has a gap ('traylog export --skip-damaged'), an event \
            `lost` stands in the place of each event that is missing, so that all others keep their numbers; what the missing ones did is missing, too. Blank lines are skipped but counted in line numbers.

            EXAMPLES
              traylog restore trays.jsonl --store copy
              gzip -dc trays.jsonl.gz | traylog restore - --store copy
              traylog export | ssh host traylog restore - --store trays
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "Lines of an export, or - for standard input.", completion: .file())
    var file: String

    func run() throws {
        // Opened before the store, which is not created when there is nothing to read.
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        var restorer = try Restorer(from: source, to: directory, isJSON: global.json)
        let report = try restorer.run()
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                let lost = report.lost.reduce(0) { $0 + $1.count }
                let words = lost == 0 ? "" : ", \(lost.grouped) of them lost"
                try output.line("restored: \(report.events.counted("event")), head \(report.head)\(words)")
                for gap in report.lost { try output.line("lost: \(gap.eventWords)") }
            }
        }
    }
}
