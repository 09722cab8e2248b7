@_spi(Operations) import Traylog

/// Events that match, or whose item has the words, newest first, as far back as a page can look in the time that it has.
///
/// The words may stand anywhere in a title or body, in any order.
struct LogSearch {
    /// How long a page looks through events that do not match.
    static let budget = Duration.milliseconds(200)
    /// Events that one step looks at.
    private static let window = 20_000

    private var filter: EventFilter
    private let topic: String?
    private let limit: Int
    private let budget: Duration
    /// The words beside the one that the filter has.
    private let words: [String]

    /// - Parameters:
    ///   - filter: without kinds, all but looks (``EventKind/audited``): who reads is no news to readers.
    ///   - looks: with these, too.
    ///   - topic: of broadcasts, subscriptions and their ends; nil for all events.
    init(
        _ filter: EventFilter, looks: Bool = false, topic: String? = nil, limit: Int,
        budget: Duration = LogSearch.budget
    ) {
        (self.filter, self.topic, self.limit, self.budget) = (filter, topic, limit, budget)
        var words = filter.text.map(Self.words) ?? []
        // The longest one has the fewest matches.
        if let longest = words.indices.max(by: { words[$0].utf8.count < words[$1].utf8.count }) {
            self.filter.text = words.remove(at: longest)
        }
        self.words = words
        if filter.kinds.isEmpty, !looks { self.filter.kinds = Self.withoutLooks }
        guard topic != nil else { return }
        let kinds: Set<EventKind> = [.broadcast, .arrived, .subscribed, .unsubscribed]
        self.filter.kinds = filter.kinds.isEmpty ? kinds : filter.kinds.intersection(kinds)
    }

    static let withoutLooks = Set(EventKind.allCases).subtracting([.audited])

    static func words(_ text: String) -> [String] {
        text.unicodeScalars.split { $0.properties.isWhitespace }.map { String($0) }
    }

    /// The events that were found.
    ///
    /// Events older than `next` were not looked at.
    struct Found {
        var events: [Event] = []
        var next: Seq?
        /// Why the search ended before `next`: that event is damaged.
        var damage: TraylogError?
    }

    /// - Parameter end: looks at events before this one; nil for all.
    func run(below end: Seq?, in store: Store) async throws -> Found {
        guard topic == nil || !filter.kinds.isEmpty else { return Found() }
        let (clock, start) = (ContinuousClock(), ContinuousClock.now)
        var high = try await store.log.head()
        if let end { high = min(high, end - 1) }
        if let until = filter.until { high = min(high, try await store.log.seq(of: .time(until))) }
        var events: [Event] = []
        while high > .zero {
            let (part, low) = try await part(through: high, store)
            let page: Page<Event, Seq>
            do throws(TraylogError) {
                page = try await store.log.eventsAboutItems(
                    matching: part, newestFirst: true, from: high,
                    limit: topic == nil && words.isEmpty ? limit - events.count : Self.window)
            } catch {
                // The newest event that was left is the damaged one, unless a time had to be looked up.
                guard let damaged = error.failure?.event, damaged >= low, damaged <= high, filter.since == nil,
                    filter.until == nil
                else { throw error }
                return Found(events: events, next: damaged, damage: error)
            }
            let worded = try await store.log.seqs(of: page.elements, withAll: words)
            for event in page.elements where event.seq >= low && isOfTopic(event) && worded.contains(event.seq) {
                events.append(event)
                if events.count == limit, event.seq > 1 { return Found(events: events, next: event.seq) }
            }
            // A damaged event ends a page early.
            if let next = page.next, next >= low {
                high = next
                continue
            }
            guard low > 1 else { break }
            high = low - 1
            if clock.now - start > budget { return Found(events: events, next: low) }
        }
        return Found(events: events)
    }

    /// The filter for the events of one step, and the first event of the step; 1 for the last step.
    private func part(through high: Seq, _ store: Store) async throws -> (EventFilter, low: Seq) {
        var part = filter
        // A person's own events are found without looking at others.
        guard high > Seq.zero + Self.window, filter.user == nil else { return (part, 1) }
        let low = high - Self.window + 1
        // An event that left the log says no time: then the rest is one step.
        guard let time = try? await store.log.event(low).recordedAt else { return (part, 1) }
        if let since = filter.since, since > time { return (part, 1) }
        part.since = time
        return (part, low)
    }

    private func isOfTopic(_ event: Event) -> Bool {
        guard let topic else { return true }
        return switch event.body {
        case .broadcast(let name, _), .subscribed(let name, _), .unsubscribed(let name, _),
            .arrived(_, let name?, _, _, _):
            name.utf8.elementsEqual(topic.utf8)
        default: false
        }
    }
}

extension StoreLog {
    /// Those of some events that have each of the words, or whose item has it.
    func seqs(of events: [Event], withAll words: [String]) async throws -> Set<Seq> {
        var rest = events
        for word in words {
            let found = try await seqs(of: rest, withWords: word)
            rest.removeAll { !found.contains($0.seq) }
        }
        return Set(rest.map(\.seq))
    }
}
