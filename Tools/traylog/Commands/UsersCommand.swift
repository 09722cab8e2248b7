import ArgumentParser
import Traylog

struct UsersCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Show every user's tray, in byte order of the users' names.",
        discussion: """
            With --json one tray a line.

            EXAMPLES
              traylog users
              traylog users --json | jq -s 'map(.unread) | add'
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    private static let chunk = 256

    func run() throws {
        try withReader { reader in
            try printing { output in
                var table = Table(Self.columns, on: Terminal(.standardOutput))
                var last: String?
                while true {
                    let names = try reader.users(after: last, limit: Self.chunk, asOf: moment.asOf)
                    guard let newLast = names.last else { break }
                    last = newLast
                    let trays = try names.map { try reader.tray(of: $0, asOf: moment.asOf) }
                    if global.json {
                        for tray in trays { try output.json { $0.write(tray) } }
                    } else {
                        try output.lines(table.lines(trays.map(Self.row)))
                    }
                }
            }
        }
    }

    private static let columns: [Column] = [
        .flexible("USER", minimum: 12), .whole("UNSEEN", .right), .whole("UNREAD", .right), .whole("TOTAL", .right),
        .whole("SEEN UP TO", .right), .whole("NEWEST", .right),
    ]

    private static func row(_ tray: Tray) -> [Cell] {
        let style: Style = tray.unread > 0 ? .bold : .plain
        return [
            Cell(tray.user, style), Cell(tray.unseen), Cell(tray.unread, style), Cell(tray.total),
            Cell(tray.seenUpTo), Cell(tray.newest),
        ]
    }
}
