import ArgumentParser
import Traylog

struct LogCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show events of the log, oldest first.",
        discussion: """
            With --json one event a line.

            EXAMPLES
              traylog log
              traylog log --from 1000 --to 2000
              traylog log --user alice --kind marked --kind allMarked --json
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var range: SeqRange
    @OptionGroup var moment: MomentOption

    @Option(help: "Only this user's events.")
    var user: String?

    @Option(help: "Only events of this kind; may be repeated.")
    var kind: [Word<EventKind>] = []

    func run() throws {
        try withReader { reader in
            let head = try moment.asOf.map { try reader.seq(of: $0) } ?? reader.head()
            var chunks = EventChunks(from: range.from, through: min(range.to ?? head, head)) {
                (from, limit) throws(TraylogError) in
                guard let user else { return try reader.events(from: from, limit: limit) }
                return try reader.history(of: user, from: from, limit: limit)
            }
            try printing { output in
                var table = Table(Self.columns, on: Terminal(.standardOutput))
                let kinds = Set(kind.map(\.value))
                while let events = try chunks.take() {
                    let wanted = kinds.isEmpty ? events : events.filter { kinds.contains($0.kind) }
                    if global.json {
                        for event in wanted { try output.json { $0.write(event) } }
                    } else if !wanted.isEmpty {
                        try output.lines(table.lines(wanted.map(Self.row)))
                    }
                }
            }
        }
    }

    private static let columns: [Column] = [
        .whole("SEQ", .right), .whole("RECORDED"), .whole("KIND"), .flexible("USER"), .flexible("WHAT", minimum: 12),
    ]

    private static func row(_ event: Event) -> [Cell] {
        [
            Cell(event.seq), Cell(event.recordedAt), Cell(event.kind.name), Cell(event.user), Cell(event.words),
        ]
    }
}
