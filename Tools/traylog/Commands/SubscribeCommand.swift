import ArgumentParser
import Traylog

struct SubscribeCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Let a user receive a topic's broadcasts from now on.",
        discussion: """
            Joining does not bring the backlog.

            EXAMPLES
              traylog subscribe alice releases
              traylog subscribe alice releases --device phone
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "The topic.")
    var topic: String

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .subscribe(topic: topic) }
}
