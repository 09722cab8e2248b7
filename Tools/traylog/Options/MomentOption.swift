import ArgumentParser
import Traylog

extension Moment: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

/// When: the present, or a moment of the past.
struct MomentOption: ParsableArguments {
    @Option(
        name: .customLong("as-of"),
        help: ArgumentHelp(
            "As it was right after an event (a seq), or at a time (RFC 3339).", valueName: "seq-or-time"))
    var asOf: Moment?
}
