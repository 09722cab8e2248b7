import ArgumentParser
import Traylog

struct WatchCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show a user's tray now and whenever it changes.",
        discussion: """
            A line for the present state, then one for each change, whatever process made it, until it is interrupted. \
            When changes come faster than they can be shown, the newest one is shown. With --json one tray a line.

            EXAMPLES
              traylog watch alice
              traylog watch alice --json | jq .unseen
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    func run() throws {
        try recordReading(of: user)
        let (user, isJSON) = (user, global.json)
        try withStoreReader { reader in
            try EndlessCall.run(writingTo: .standardOutput) {
                let output = Output(.standardOutput)
                var table = Table(Self.columns, on: Terminal(.standardOutput), isEndless: true)
                for try await tray in reader.trayUpdates(of: user) {
                    if isJSON {
                        try output.json { $0.write(tray) }
                    } else {
                        try output.lines(table.lines([Self.row(tray)]))
                    }
                    try output.flush()
                }
            }
        }
    }

    private static let columns: [Column] = [
        .whole("AS OF", .right), .whole("UNSEEN", .right), .whole("UNREAD", .right), .whole("TOTAL", .right),
        .flexible("STATE"),
    ]

    private static func row(_ tray: Tray) -> [Cell] {
        let state = tray.isSeen ? Cell("everything seen") : Cell("● \(tray.unseen) unseen", .bold)
        return [Cell(tray.asOf), Cell(tray.unseen), Cell(tray.unread), Cell(tray.total), state]
    }
}
