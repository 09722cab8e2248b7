import ArgumentParser
import Traylog

struct ActCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "act",
        abstract: "Decide on one of an item's actions, once.",
        discussion: """
            The first answer counts: the same again changes nothing, another one is refused. The item is read then.

            --as-of says what was on the screen: the "asOf" of the inbox or the item that was shown. If the item was \
            edited since, the answer is refused (changedSince), so that nobody approves a text that nobody saw.

            EXAMPLES
              traylog act alice deploy-17 yes
              traylog act alice deploy-17 yes --as-of 1200
              traylog act alice 17 no --note "After the release"
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var own: OwnItem

    @Argument(help: ArgumentHelp("The id of the action.", valueName: "action"))
    var choice: String

    @Option(help: "At most 1 KiB.")
    var note: String?

    @Option(help: ArgumentHelp("The state that was on the screen; without it, nothing is compared.", valueName: "seq"))
    var asOf: Seq?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { own.user }

    func action() throws -> Command.Action { .act(try own.reference(), action: choice, note: note, asOf: asOf) }
}
