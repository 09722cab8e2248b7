import ArgumentParser
@_spi(Wire) import Traylog

struct UsersCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Show users' trays, in byte order of the users' names.",
        discussion: """
            With --json one tray a line. Sorted by unread, users with most come first; that reads every tray before it \
            prints the first line.

            EXAMPLES
              traylog users
              traylog users --sort unread --limit 10
              traylog users --prefix team- --json
              traylog users --json | jq -s 'map(.unread) | add'
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    @Option(help: "Only users whose names begin with this.")
    var prefix = ""

    enum Order: String, CaseIterable, ExpressibleByArgument { case name, unread }

    @Option(help: "Sort by name (in byte order) or by unread items, most first.")
    var sort = Order.name

    @Option(help: ArgumentHelp("The most users to show.", valueName: "n"))
    var limit: WireNumber?

    @OptionGroup var form: CSVOption

    func validate() throws {
        try requireStore()
        try form.check(global)
        _ = try limit?.of("--limit", within: 0...Int.max)
    }

    private static let chunk = 256
    private var wanted: Int { limit?.clamped(to: 0...Int.max) ?? .max }

    func run() throws {
        try withReader { reader in
            try printing { output in
                var table = Table(Self.columns, on: Terminal(.standardOutput))
                func show(_ trays: [Tray]) throws {
                    if global.json {
                        for tray in trays { try output.json { $0.write(tray) } }
                    } else if form.csv {
                        for tray in trays { try output.line(CSVText.line(tray.csvFields)) }
                    } else {
                        try output.lines(table.lines(trays.map(Self.row)))
                    }
                }
                if form.csv { try output.line(CSVText.line(Tray.csvNames)) }
                switch sort {
                case .name: try forEachChunk(reader, limit: wanted, show)
                case .unread: try show(try byUnread(reader))
                }
                if !global.json, !form.csv, let limit, try hasMore(reader) {
                    try output.line("more: there are more users than --limit \(limit) shows")
                }
            }
        }
    }

    /// Trays in the order of names, some at a time.
    private func forEachChunk(_ reader: BlockingReader, limit: Int, _ body: ([Tray]) throws -> Void) throws {
        var rest = limit
        var last: String?
        while rest > 0 {
            let names = try reader.users(
                after: last, prefix: prefix, limit: min(Self.chunk, rest), asOf: moment.asOf
            ).elements
            guard let newLast = names.last else { break }
            (last, rest) = (newLast, rest - names.count)
            try body(try names.map { try reader.tray(of: $0, asOf: moment.asOf) })
        }
    }

    /// Whether there are more users than the limit shows.
    private func hasMore(_ reader: BlockingReader) throws -> Bool {
        guard wanted < .max else { return false }
        return try reader.users(after: nil, prefix: prefix, limit: wanted + 1, asOf: moment.asOf).elements.count
            > wanted
    }

    /// Those with most unread items, in the order of names where they have as many.
    private func byUnread(_ reader: BlockingReader) throws -> [Tray] {
        var most: [Tray] = []
        let limit = wanted
        func cut() {
            // The sort is stable, and names come in order.
            most.sort { $0.unread > $1.unread }
            most.removeLast(max(0, most.count - limit))
        }
        try forEachChunk(reader, limit: .max) { trays in
            most += trays
            if most.count / 2 >= limit { cut() }
        }
        cut()
        return most
    }

    private static let columns: [Column] = [
        .flexible("USER", minimum: 12), .whole("UNSEEN", .right), .whole("UNREAD", .right), .whole("TOTAL", .right),
        .whole("SEEN UP TO", .right), .whole("NEWEST", .right), .time("LAST SEEN"),
    ]

    private static func row(_ tray: Tray) -> [Cell] {
        let style: Style = tray.unread > 0 ? .bold : .plain
        return [
            Cell(tray.user, style), Cell(tray.unseen), Cell(tray.unread, style), Cell(tray.total),
            Cell(tray.seenUpTo), Cell(tray.newest), tray.seenAt.map { Cell($0) } ?? Cell("never", .dim),
        ]
    }
}
