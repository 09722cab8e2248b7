import ArgumentParser
import Traylog

/// Which page, and how large.
struct PageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("At most so many, 1 to 100.", valueName: "n"))
    var limit = Limits.defaultPageItems

    @Option(help: "Where the page before ended, as it said.")
    var cursor: Cursor?
}
