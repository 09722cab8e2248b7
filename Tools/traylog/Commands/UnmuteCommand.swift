import ArgumentParser
import Traylog

struct UnmuteCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "unmute",
        abstract: "End a mute.",
        discussion: """
            Items that arrived while it was muted stay muted.

            EXAMPLES
              traylog unmute alice --thread build-17
              traylog unmute alice --category ci
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var target: MuteTarget

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .unmute(target.scope) }
}
