import ArgumentParser
@_spi(Operations) @_spi(Wire) import Traylog

/// Which events of the log to show.
struct SearchOptions: ParsableArguments {
    @Option(help: "Only what this actor did; without another actor, the user acted.")
    var actor: String?

    @Option(help: "Only what came from this device.")
    var device: String?

    @Option(help: "Only the event with this idempotency key.")
    var key: String?

    @Option(help: "Only events that name this thread.")
    var thread: String?

    @Option(help: "Only events that name this category.")
    var category: String?

    @Option(help: "Only events with this text in a title or body, in whatever case.")
    var text: String?

    @Option(help: ArgumentHelp("Only events recorded since a time.", valueName: "time"))
    var since: Moment?

    @Option(help: ArgumentHelp("Only events recorded until a time.", valueName: "time"))
    var until: Moment?

    @Option(help: "The most events to show.")
    var limit: WireNumber?

    @Flag(help: "The newest events first.")
    var newestFirst = false

    var isSet: Bool {
        newestFirst || limit != nil || since != nil || until != nil
            || [actor, device, key, thread, category, text].contains { $0 != nil }
    }

    /// Whether only the newest events are wanted, so that it does not matter what is missing at the beginning.
    var isOfNewest: Bool { newestFirst && limit != nil }

    func validate() throws {
        _ = try limit?.of("--limit", within: 1...Int.max)
    }

    /// What an event must have; without ends that are seqs.
    private var filter: EventFilter {
        var filter = EventFilter()
        (filter.actor, filter.device, filter.key) = (actor, device, key)
        (filter.thread, filter.category, filter.text) = (thread, category, text)
        if case .time(let time)? = since { filter.since = time }
        if case .time(let time)? = until { filter.until = time }
        return filter
    }

    /// The same for an export, which has ends of its own.
    func exportFilter() throws -> EventFilter {
        guard since.isTime, until.isTime else {
            throw ValidationError("'--since' and '--until' take times here; for seqs there are '--from' and '--to'.")
        }
        return filter
    }

    /// The events that match, in chunks.
    ///
    /// - Parameter last: the last event that is looked at.
    func search(
        _ reader: BlockingReader, user: String?, kinds: Set<EventKind>, from first: Seq, through last: Seq,
        _ archives: Archives?
    ) -> EventSearch {
        var (filter, first, last) = (filter, first, last)
        (filter.user, filter.kinds) = (user, kinds)
        if case .seq(let seq)? = since { first = max(first, seq) }
        if case .seq(let seq)? = until { last = min(last, seq) }
        return EventSearch(
            reader, filter, from: first, through: last, newestFirst: newestFirst,
            limit: limit?.clamped(to: 1...Int.max) ?? .max, archives)
    }
}

/// A search of the log, read in chunks.
struct EventSearch {
    private static let size = 256

    private let reader: BlockingReader
    private let filter: EventFilter
    private let archives: Archives?
    private let newestFirst: Bool
    private let first: Seq
    private let last: Seq
    /// Where the next chunk starts; nil after the last.
    private var next: Seq?
    private var rest: Int

    init(
        _ reader: BlockingReader, _ filter: EventFilter, from first: Seq, through last: Seq, newestFirst: Bool,
        limit: Int,
        _ archives: Archives?
    ) {
        self.reader = reader
        self.filter = filter
        self.archives = archives
        self.newestFirst = newestFirst
        self.first = first
        self.last = last
        next = newestFirst ? last : first
        rest = limit
    }

    /// The option that goes on after the limit; nil where nothing more matches.
    var more: String? {
        guard rest == 0, let next, newestFirst ? next >= first : next <= last else { return nil }
        return newestFirst ? "--until \(next)" : "--since \(next)"
    }

    /// The next events; nil after the last.
    mutating func take() throws(TraylogError) -> [Event]? {
        guard let start = next, rest > 0 else { return nil }
        let page: Page<Event, Seq>
        do throws(TraylogError) {
            page = try reader.events(
                matching: filter, newestFirst: newestFirst, from: start, limit: min(rest, Self.size),
                including: archives)
        } catch {
            throw error.withWayAroundDamage
        }
        let wanted = page.elements.prefix { newestFirst ? $0.seq >= first : $0.seq <= last }
        next = wanted.count < page.elements.count ? nil : page.next
        rest -= wanted.count
        return wanted.isEmpty ? nil : Array(wanted)
    }
}

extension Moment? {
    /// Whether it is no seq.
    fileprivate var isTime: Bool { if case .seq? = self { false } else { true } }
}
