import ArgumentParser
@_spi(Operations) @_spi(Wire) import Traylog

struct ScheduledCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "scheduled",
        abstract: "Show what was notified or broadcast for later and has not arrived.",
        discussion: """
            The soonest comes first. Nobody's tray has these items; 'edit' and 'retract' change them and take them back. A \
            tick at or after its time lets an item arrive.

            EXAMPLES
              traylog scheduled
              traylog scheduled alice --json
              traylog scheduled --limit 20
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "Only items of this user.", completion: .user)
    var user: String?

    @Option(help: ArgumentHelp("The most items to show.", valueName: "n"))
    var limit: WireNumber?

    @Option(help: "The cursor at the end of the list before.")
    var cursor: String?

    func validate() throws {
        _ = try limit?.of("--limit", within: 1...Int.max)
    }

    private static let chunk = 1_000

    func run() throws {
        if let user { try recordReading(of: user) }
        try withReader { reader in
            if !global.json, let user { try noteIfUnknown(user, reader) }
            try printing { output in
                var table = Table(Self.columns, on: Terminal(.standardOutput))
                var (last, rest) = (cursor, limit?.clamped(to: 1...Int.max) ?? .max)
                repeat {
                    let page = try reader.scheduled(of: user, after: last, limit: min(Self.chunk, rest))
                    (last, rest) = (page.next, rest - page.elements.count)
                    if global.json {
                        for item in page.elements { try output.json { $0.write(item) } }
                    } else {
                        try output.lines(table.lines(page.elements.map(Self.row)))
                    }
                } while last != nil && rest > 0
                guard let last else { return }
                if global.json {
                    try output.json { $0.write(next: last) }
                } else {
                    try output.line("more: --cursor \(VisibleText(last).text)")
                }
            }
        }
    }

    private static let columns: [Column] = [
        .whole("ITEM", .right), .time("NOT BEFORE"), .flexible("FOR", minimum: 12), .main("TITLE"),
    ]

    private static func row(_ item: ScheduledItem) -> [Cell] {
        let whom = item.user ?? item.topic.map { "topic \($0)" }
        return [Cell(item.seq), Cell(item.notBefore), Cell(whom), Cell(item.title)]
    }
}
