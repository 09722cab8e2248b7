import ArgumentParser
@_spi(Operations) import Traylog

extension Moment: @retroactive ExpressibleByArgument {
    /// A seq, also with its digits in groups; a time in RFC 3339; a local date or time as the tables print it; `2h` and the like
    /// for so long ago; `today` and `yesterday` for the beginning of the day.
    public init?(argument: String) {
        guard let moment = TypedTime.local.moment(argument) else { return nil }
        self = moment
    }
}

/// When: the present, or a moment of the past.
struct MomentOption: ParsableArguments {
    @Option(
        name: .customLong("as-of"),
        help: ArgumentHelp(
            "As it was right after an event (a seq) or at a time: RFC 3339, a local date or time, 2h, yesterday.",
            valueName: "seq-or-time"))
    var asOf: Moment?
}
