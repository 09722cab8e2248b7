import ArgumentParser
import Traylog

struct UndoCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Void one earlier see, mark or mark-all: as if it had never been stored.",
        discussion: """
            'traylog history USER' shows the seqs.

            EXAMPLES
              traylog undo alice 1203
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "The event's seq.")
    var event: Seq

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .undo(event: event) }
}
