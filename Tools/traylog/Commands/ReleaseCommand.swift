import ArgumentParser
import Traylog

struct ReleaseCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "End a hold.",
        discussion: """
            From now on the user can be erased, and compactions take what they take of others.

            EXAMPLES
              traylog release alice --actor legal@example.org
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.")
    var user: String

    @Option(help: "Who asks for it.")
    var actor: String?

    @Option(help: "From which device.")
    var device: String?

    func run() throws {
        let receipt = try writing { store throws(TraylogError) in
            try store.release(user, actor: actor, device: device)
        }
        try printing { output in
            if global.json {
                try output.json { $0.write(receipt) }
            } else {
                try output.line(receipt.words)
            }
        }
    }
}
