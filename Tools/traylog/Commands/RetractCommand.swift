import ArgumentParser
import Traylog

struct RetractCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "retract",
        abstract: "Take an item back permanently, as its publisher.",
        discussion: """
            EXAMPLES
              traylog retract alice 17
              traylog retract alice mail-42
              traylog retract --broadcast 90
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var published: PublishedItem
    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { published.tray }

    func action() throws -> Command.Action { .retract(try published.reference()) }
}
