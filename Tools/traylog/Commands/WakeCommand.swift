import ArgumentParser
import Traylog

struct WakeCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "wake",
        abstract: "End an item's snooze: it comes back as the newest, unseen and unread.",
        discussion: """
            EXAMPLES
              traylog wake alice 17
              traylog wake alice mail-42
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var own: OwnItem
    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { own.user }

    func action() throws -> Command.Action { .wake(try own.reference()) }
}
