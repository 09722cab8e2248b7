import ArgumentParser
import Traylog

extension Moment: @retroactive ExpressibleByArgument {
    /// A seq; a time in RFC 3339; a local date or time as the tables print it; `2h` and the like for so long ago; `today` and
    /// `yesterday` for the beginning of the day.
    public init?(argument: String) {
        if let moment = Moment(argument) {
            self = moment
        } else if let time = Timestamp(local: argument) ?? Timestamp(beforeNow: argument) {
            self = .time(time)
        } else {
            return nil
        }
    }
}

extension Timestamp {
    /// `90s`, `30m`, `2h`, `3d`, `1w`: so long ago; `today`, `yesterday`: when the day began.
    fileprivate init?(beforeNow text: String) {
        if text == "today" || text == "yesterday" {
            self = .dayBeginning(daysAgo: text == "today" ? 0 : 1)
            return
        }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let number = UInt32(text.dropLast()) else { return nil }
        let now = Timestamp.now
        self.init(milliseconds: now.milliseconds - Int64(number) * unit * 1_000)
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
