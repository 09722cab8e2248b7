import ArgumentParser
@_spi(Operations) import Traylog

struct HoldCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a user's data on legal hold.",
        discussion: """
            Until 'release' no event of the user leaves the log by a compaction, and 'erase' is refused with 'held'. \
            The hold is an event of the log, with whoever asked for it as its actor. While a server has the store open, \
            the command asks it. The name may be new: a note on standard error says so, and whom it may mean.

            EXAMPLES
              traylog hold alice --actor legal@example.org
            """)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var hold: HoldOptions

    func run() throws {
        try appendAsOwner(
            { try $0.hold(hold.user, actor: hold.actor, device: hold.device) },
            "PUT", "hold", of: hold.user, [("actor", hold.actor), ("device", hold.device)])
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
