import ArgumentParser
@_spi(Operations) import Traylog

struct TrayCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "tray",
        abstract: "Show a user's tray: how much is unseen and unread.",
        discussion: """
            All counts are exact. An unknown user has an empty tray.

            EXAMPLES
              traylog tray alice
              traylog tray alice --as-of 1200 --json
              traylog tray alice --as-of 2026-01-31T12:00:00Z
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var moment: MomentOption

    func run() throws {
        try recordReading(of: user)
        let (tray, hold) = try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            return (try reader.tray(of: user, asOf: moment.asOf), global.json ? nil : reader.knownHold(of: user))
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(tray) }
            } else {
                try output.lines(TrayText(tray, hold).lines(on: Terminal(.standardOutput)))
            }
        }
    }
}
