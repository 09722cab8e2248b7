import ArgumentParser
import Traylog

struct MuteCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Let new items of a thread, category or topic, or all, arrive without being counted.",
        discussion: """
            Items that arrive while it is muted are listed, but never counted. Again with another time, or without one: \
            replaces it. 'traylog tick' ends what is muted until a time.

            EXAMPLES
              traylog mute alice --thread build-17
              traylog mute alice --category ci
              traylog mute alice --topic releases
              traylog mute alice --all --until '2030-01-01 08:00'
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup var target: MuteTarget

    @Option(
        help: ArgumentHelp(
            "When the mute ends (RFC 3339, or local: 2026-03-01 14:05; default: with an unmute).", valueName: "time"))
    var until: Timestamp?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .mute(target.scope, until: until) }
}
