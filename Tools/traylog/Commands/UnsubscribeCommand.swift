import ArgumentParser
import Traylog

struct UnsubscribeCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "End a subscription.",
        discussion: """
            Leaving keeps what was received.

            EXAMPLES
              traylog unsubscribe alice releases
              traylog unsubscribe alice releases --device phone
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @Argument(help: "The topic.")
    var topic: String

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .unsubscribe(topic: topic) }
}
