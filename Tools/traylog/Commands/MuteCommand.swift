import ArgumentParser
import Traylog

struct MuteCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Let new items of a thread or category arrive without being counted.",
        discussion: """
            Items that arrive while it is muted are listed, but never counted.

            EXAMPLES
              traylog mute alice --thread build-17
              traylog mute alice --category ci
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var target: MuteTarget

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .mute(target.scope) }
}
