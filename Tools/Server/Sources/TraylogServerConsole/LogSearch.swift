@_spi(Operations) import Traylog

/// Events that match, or whose item has the words, newest first, as far back as a page can look in the time that it has.
struct LogSearch {
    /// How long a page looks through events that do not match.
    static let budget = Duration.milliseconds(200)
    /// Events that one step looks at.
    private static let window = 20_000

    private var filter: EventFilter
    private let topic: String?
    private let limit: Int
    private let budget: Duration

    /// - Parameter topic: of broadcasts, subscriptions and their ends; nil for all events.
    init(_ filter: EventFilter, topic: String? = nil, limit: Int, budget: Duration = LogSearch.budget) {
        (self.filter, self.topic, self.limit, self.budget) = (filter, topic, limit, budget)
        guard topic != nil else { return }
        let kinds: Set<EventKind> = [.broadcast, .arrived, .subscribed, .unsubscribed]
        self.filter.kinds = filter.kinds.isEmpty ? kinds : filter.kinds.intersection(kinds)
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
                    limit: topic == nil ? limit - events.count : Self.window)
            } catch {
                // The newest event that was left is the damaged one, unless a time had to be looked up.
                guard let damaged = error.failure?.event, damaged >= low, damaged <= high, filter.since == nil,
                    filter.until == nil
                else { throw error }
                return Found(events: events, next: damaged, damage: error)
            }
            for event in page.elements where event.seq >= low && isOfTopic(event) {
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
