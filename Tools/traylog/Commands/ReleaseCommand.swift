import ArgumentParser
@_spi(Operations) import Traylog

struct ReleaseCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "End a hold.",
        discussion: """
            From now on the user can be erased, and compactions treat the user's events like those of others.

            EXAMPLES
              traylog release alice --actor legal@example.org
            """)

    @OptionGroup var global: GlobalOptions

    @OptionGroup var hold: HoldOptions

    func run() throws {
        try appendAsOwner(
            { try $0.release(hold.user, actor: hold.actor, device: hold.device) },
            "DELETE", "hold", of: hold.user, [("actor", hold.actor), ("device", hold.device)])
    }
}
