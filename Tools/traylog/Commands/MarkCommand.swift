import ArgumentParser
import Traylog

struct MarkCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Mark single items.",
        discussion: """
            An ITEM of digits only is a seq, anything else is the key that its notify carried.

            EXAMPLES
              traylog mark alice read 17 18
              traylog mark alice archived mail-42
              traylog mark alice deleted --keys 20260101
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "The mark.")
    var mark: Word<Mark>

    @Argument(help: "1 to 1,000 items.")
    var items: [String]

    @Flag(help: "Read all items as keys, also those that are all digits.")
    var keys = false

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action {
        .mark(mark.value, try items.map { try ItemReference(argument: $0, isKey: keys) })
    }
}
