import ArgumentParser
import Traylog

/// A range of the log, both ends included.
struct SeqRange: ParsableArguments {
    @Option(help: ArgumentHelp("From this event on.", valueName: "seq"))
    var from: Seq = 1

    @Option(help: ArgumentHelp("Up to and including this event (default: the head).", valueName: "seq"))
    var to: Seq?

    func validate() throws {
        if let to, from > to { throw ValidationError("The range is empty: '--from \(from)' is after '--to \(to)'.") }
    }
}
