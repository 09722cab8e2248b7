import ArgumentParser
import Traylog

/// Which page, and how large.
struct PageOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The most to show, 1 to 100.", valueName: "n"))
    var limit = 20

    @Option(help: "The cursor at the end of the page before.")
    var cursor: Cursor?
}
