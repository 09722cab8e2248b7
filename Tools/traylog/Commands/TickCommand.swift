import ArgumentParser
@_spi(Operations) import Traylog

struct TickCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "tick",
        abstract: "Bring, wake, expire, unmute and remind of what is due.",
        discussion: """
            Items whose notBefore has come arrive; snoozed items whose time has come return to the inbox at the top, unseen and unread; items past their \
            expiresAt are gone; mutes with an end that has come are over; of unread items whose remindAt has come the log \
            says 'reminded'. A program that embeds the store does this by itself; on the command line nothing happens \
            without a tick, so run it from cron or a timer. It creates no store.

            EXAMPLES
              traylog tick
              traylog tick --now 2030-01-01T08:00:00Z --json
            """)

    @OptionGroup var global: GlobalOptions

    @Option(help: ArgumentHelp("The present time (RFC 3339; default: the clock).", valueName: "time"))
    var now: Timestamp?

    func run() throws {
        // Nothing can be due in a store that does not exist.
        try withReader { _ in }
        let report = try writing { store throws(TraylogError) in try store.tick(now: now) }
        try printing { output in
            if global.json {
                try output.json { $0.write(report) }
            } else {
                try output.line(
                    (report.arrived > 0 ? "arrived \(report.arrived.grouped), " : "")
                        + "woken \(report.woken.grouped), expired \(report.expired.grouped), "
                        + "unmuted \(report.unmuted.grouped), reminded \(report.reminded.grouped), head \(report.head)")
            }
        }
    }
}
