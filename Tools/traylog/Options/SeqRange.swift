import ArgumentParser
@_spi(Operations) import Traylog

/// A range of the log, both ends included, by events or by the times when they were recorded.
struct SeqRange: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "From this event on, or from the first one recorded at a time or later.", valueName: "seq-or-time"))
    var from: Moment?

    @Option(
        help: ArgumentHelp(
            "Up to and including this event, or the last one recorded by a time (default: the head).",
            valueName: "seq-or-time"))
    var to: Moment?

    func validate() throws {
        let isReversed =
            switch (from, to) {
            case (.seq(let first), .seq(let last)): first > last
            case (.time(let first), .time(let last)): first > last
            default: false
            }
        if isReversed, let from, let to {
            throw ValidationError("The range is empty: '--from \(from.words)' is after '--to \(to.words)'.")
        }
    }

    /// The first event of the range, and the last one where an end was given; the head may lie before either.
    func seqs(
        _ reader: BlockingReader, _ archives: Archives? = nil
    ) throws(TraylogError) -> (first: Seq, last: Seq?) {
        (try first(reader, archives), try last(reader, archives))
    }

    private func first(_ reader: BlockingReader, _ archives: Archives?) throws(TraylogError) -> Seq {
        switch from {
        case nil: return 1
        case .seq(let seq): return seq
        case .time(let time):
            var filter = EventFilter()
            filter.since = time
            if let found = try reader.events(matching: filter, limit: 1, including: archives).elements.first {
                return found.seq
            }
            return try reader.head() + 1
        }
    }

    private func last(_ reader: BlockingReader, _ archives: Archives?) throws(TraylogError) -> Seq? {
        switch to {
        case nil: return nil
        case .seq(let seq): return seq
        case .time(let time):
            var filter = EventFilter()
            filter.until = time
            return try reader.events(matching: filter, newestFirst: true, limit: 1, including: archives).elements.first?
                .seq ?? 0
        }
    }
}

extension Moment {
    /// As the tables show it, with the zone.
    fileprivate var words: String {
        switch self {
        case .seq(let seq): "\(seq)"
        case .time(let time): time.zonedText
        }
    }
}
