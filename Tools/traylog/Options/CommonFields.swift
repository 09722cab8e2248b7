import ArgumentParser
import Traylog

/// The fields that every command to the store may carry.
struct CommonFields: ParsableArguments {
    @Option(help: "Idempotency key: the same command with it again stores nothing.")
    var key: String?

    @Option(help: ArgumentHelp("When it happened (RFC 3339, or local: 2026-03-01 14:05).", valueName: "time"))
    var occurredAt: Timestamp?

    @Option(help: "Who acts (default: the user).")
    var actor: String?

    @Option(help: "From which device.")
    var device: String?

    @Option(
        help: ArgumentHelp(
            "Refuse unless the user's newest event (a broadcast: the topic's) has this revision.", valueName: "n"))
    var expectedRevision: UInt64?
}
