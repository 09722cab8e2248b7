import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog

struct DiffCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what changed in a user's tray between two moments, and which events did it.",
        discussion: """
            From right after one moment to right after the other: the counts, the items that appeared, disappeared or \
            changed, and every event in between that touched the tray.

            EXAMPLES
              traylog diff alice --from 100 --to 200
              traylog diff alice --from 2026-01-31T00:00:00Z --json
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Option(help: ArgumentHelp("The earlier moment.", valueName: "seq-or-time"))
    var from: Moment

    @Option(help: ArgumentHelp("The later moment (default: now).", valueName: "seq-or-time"))
    var to: Moment?

    func run() throws {
        try recordReading(of: user)
        try withReader { reader in
            if !global.json { try noteIfUnknown(user, reader) }
            var progress = ProgressBar("diff", unit: "events")
            let difference = try reader.difference(of: user, from: from, to: to) { done, total in
                progress.update(count: done, fraction: Double(done) / Double(total))
            }
            progress.clear()
            let events = try reader.events(of: difference.steps)
            try printing { output in
                if global.json {
                    try output.json { $0.write(difference, events) }
                } else {
                    try output.lines(
                        DifferenceText(difference, events, reader.knownHold(of: user))
                            .lines(on: Terminal(.standardOutput)))
                }
            }
        }
    }
}
