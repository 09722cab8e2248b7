import ArgumentParser
import Traylog

struct MarkAllCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mark-all",
        abstract: "Mark all items that match.",
        discussion: """
            EXAMPLES
              traylog mark-all alice read
              traylog mark-all alice deleted --thread build-17
              traylog mark-all alice archived --unthreaded --category ci --up-to 1200
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "What to mark them as.")
    var mark: Word<BulkMark>

    @OptionGroup var filter: ThreadFilter

    @Option(help: "Only items of this category.")
    var category: String?

    @Option(help: ArgumentHelp("Only items at this position or below (default: the head).", valueName: "seq"))
    var upTo: Seq?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action {
        .markAll(mark.value, ItemFilter(thread: filter.selected, categories: category.map { [$0] } ?? []), upTo: upTo)
    }
}
