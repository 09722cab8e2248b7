import ArgumentParser
import Traylog

struct HoldCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a user's data on legal hold.",
        discussion: """
            Neither compaction nor erasure takes any of it. From now on no event of the user leaves the log, and 'erase' is refused with 'held', until \
            'release'. It is an event of the log, with who asked for it.

            EXAMPLES
              traylog hold alice --actor legal@example.org
            """)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var hold: HoldOptions

    func run() throws {
        try append { store throws(TraylogError) in
            try store.hold(hold.user, actor: hold.actor, device: hold.device)
        }
    }
}

/// The arguments of a hold and of its end.
struct HoldOptions: ParsableArguments {
    @Argument(help: "The user.", completion: .user)
    var user: String

    @Option(help: "Who asks for it.")
    var actor: String?

    @Option(help: "From which device.")
    var device: String?
}
