import ArgumentParser
import Traylog

struct BroadcastCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "broadcast",
        abstract: "Put an item in the tray of everyone who is subscribed to a topic now.",
        discussion: """
            One event, whatever the audience: each tray takes it over when it is next looked at.

            EXAMPLES
              traylog broadcast releases --title "Version 2 is out" --key release-2
              traylog broadcast incidents --title "Mail is down" --level critical
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The topic.")
    var topic: String

    @OptionGroup(title: "Content") var content: ContentFields
    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { nil }

    func action() throws -> Command.Action { .broadcast(topic: topic, content.content()) }
}
