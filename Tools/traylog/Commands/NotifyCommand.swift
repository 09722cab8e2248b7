import ArgumentParser
import Traylog

struct NotifyCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Put an item in a user's tray.",
        discussion: """
            EXAMPLES
              traylog notify alice --title "Build failed" --thread build-17 --category ci
              traylog notify alice --key mail-42 --title "A mail" --summary-argument Bob
              traylog notify alice --title "12 mails" --collapse-key mail --data '{"n":12}'
              traylog notify alice --title "Deploy?" --action yes=Deploy --action no=Wait
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The user.", completion: .user)
    var user: String

    @OptionGroup(title: "Content") var content: ContentFields

    @Option(help: ArgumentHelp("A live item of this user with the same key is superseded.", valueName: "key"))
    var collapseKey: String?

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { user }

    func action() throws -> Command.Action { .notify(content.content(collapseKey: collapseKey)) }
}
