import ArgumentParser
import Traylog

struct SeeCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "see",
        abstract: "Record that a user looked at the tray: every item becomes seen.",
        discussion: """
            EXAMPLES
              traylog see alice
              traylog see alice --up-to 1200 --device phone
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Option(help: ArgumentHelp("Only items at this position or below (default: the head).", valueName: "seq"))
    var upTo: Seq?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .seeTray(upTo: upTo) }
}
