import ArgumentParser
@_spi(Replication) import Traylog

struct EditCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change an item in place, as its publisher.",
        discussion: """
            Position and marks stay as they are. A field that is not named keeps its value.

            EXAMPLES
              traylog edit alice 17 --title "Build fixed" --level passive
              traylog edit alice mail-42 --clear body --clear data
              traylog edit --broadcast 90 --title "Maintenance is over"
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var published: PublishedItem
    @OptionGroup(title: "Changes") var changes: EditFields
    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { published.tray }

    func action() throws -> Command.Action { .edit(try published.reference(), changes.edit) }
}
