@_spi(JSON) import TraylogJSON
import ArgumentParser
import Traylog

struct ThreadsCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "threads",
        abstract: "Show a user's items as groups, the one with the newest item first.",
        discussion: """
            Items without a thread form one group.

            EXAMPLES
              traylog threads alice
              traylog threads alice --limit 100 --json
              traylog threads alice --cursor c1-y1
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var page: PageOptions
    @OptionGroup var moment: MomentOption

    func run() throws {
        try recordReading(of: user)
        let (answer, hold) = try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            return (
                try reader.threads(of: user, limit: page.limit, cursor: page.cursor, asOf: moment.asOf),
                global.json ? nil : reader.knownHold(of: user)
            )
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(answer, of: user) }
            } else {
                let terminal = Terminal(.standardOutput)
                try output.lines(hold.heading(on: terminal) + ThreadsText(answer).lines(on: terminal))
            }
        }
    }
}
