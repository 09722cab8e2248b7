import ArgumentParser
import Traylog

/// The content of an item, as flags.
struct ContentFields: ParsableArguments {
    @Option(help: "The conversation or object that the item belongs to.")
    var thread: String?

    @Option(help: "The category, for counts and mutes.")
    var category: String?

    @Option(help: "At most 1 KiB.")
    var title: String?

    @Option(help: "At most 16 KiB.")
    var body: String?

    @Option(help: ArgumentHelp("The person or thing that a summary names.", valueName: "name"))
    var summaryArgument: String?

    @Option(help: ArgumentHelp("How many notifications the item stands for in a summary.", valueName: "n"))
    var summaryCount: UInt32 = 1

    @Flag(help: "Shown on request only, and never counted.")
    var silent = false

    @Option(help: "How much the item may interrupt.")
    var level = Word(InterruptionLevel.active)

    @Option(help: ArgumentHelp("When the item may expire (RFC 3339, or local: 2026-03-01 14:05).", valueName: "time"))
    var expiresAt: Timestamp?

    @Option(
        help: ArgumentHelp(
            "When a tick says 'reminded' if the item counts and is unread (RFC 3339, or local).", valueName: "time"))
    var remindAt: Timestamp?

    @Option(
        help: ArgumentHelp(
            "When a tick lets the item arrive; until then nobody sees it (RFC 3339, or local).", valueName: "time"))
    var notBefore: Timestamp?

    @Option(
        name: .customLong("action"),
        help: ArgumentHelp("An answer that the item offers; may be repeated, up to 8 times.", valueName: "id=label"))
    var actions: [OfferedAction] = []

    @Option(help: ArgumentHelp("Any JSON, kept as given; at most 64 KiB.", valueName: "json"))
    var data: String?

    func content(collapseKey: String? = nil) -> Content {
        Content(
            thread: thread, category: category, title: title, body: body, summaryArgument: summaryArgument,
            summaryCount: summaryCount, isSilent: silent, level: level.value, expiresAt: expiresAt,
            remindAt: remindAt, notBefore: notBefore, collapseKey: collapseKey, actions: actions.map(\.action),
            data: data)
    }
}

/// `approve=Approve it`: an action's id and label.
struct OfferedAction: ExpressibleByArgument {
    let action: ItemAction

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        action = ItemAction(id: String(argument[..<sign]), label: String(argument[argument.index(after: sign)...]))
    }
}
