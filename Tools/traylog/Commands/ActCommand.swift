import ArgumentParser
import Traylog

struct ActCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "act",
        abstract: "Decide on one of an item's actions, once.",
        discussion: """
            The first answer counts: the same again changes nothing, another one is refused. The item is read then.

            EXAMPLES
              traylog act alice deploy-17 yes
              traylog act alice 17 no --note "After the release"
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var own: OwnItem

    @Argument(help: ArgumentHelp("The id of the action.", valueName: "action"))
    var choice: String

    @Option(help: "At most 1 KiB.")
    var note: String?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { own.user }

    func action() throws -> Command.Action { .act(try own.reference(), action: choice, note: note) }
}
