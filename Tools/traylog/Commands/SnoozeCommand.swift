import ArgumentParser
import Traylog

struct SnoozeCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "snooze",
        abstract: "Hide an item until a time.",
        discussion: """
            A later snooze with another time replaces this one.

            EXAMPLES
              traylog snooze alice 17 --until 2030-01-01T08:00:00Z
              traylog snooze alice mail-42 --until 2030-01-01T08:00:00+01:00
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var own: OwnItem

    @Option(help: ArgumentHelp("When the item wakes (RFC 3339, or local: 2026-03-01 14:05).", valueName: "time"))
    var until: Timestamp

    @OptionGroup(title: "Any command") var common: CommonFields

    var tray: String? { own.user }

    func action() throws -> Command.Action { .snooze(try own.reference(), until: until) }
}
