import TraylogDomain
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// Events that match a filter, in one scan of the log.
    ///
    /// - Parameters:
    ///   - filter: the events to find.
    ///   - newestFirst: goes from the end to the beginning.
    ///   - from: where to begin: ``Page/next`` of the page before; nil for the oldest event, or the newest one.
    ///   - limit: the greatest number of events, all of which are in memory.
    ///   - archives: searched as well, as if nothing had left the log.
    /// - Throws: ``TraylogError``: refused `invalid`; failed. A damaged event fails the page that begins with it: the page before
    ///   ends there.
    /// - Complexity: O(events in the range of the filter's times); with a user, of that user's own events.
    @available(*, noasync, message: "use `await store.log.events`; this call blocks a thread that tasks share")
    public func events(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) throws(TraylogError) -> Page<Event, Seq> {
        try search(filter, newestFirst, from, limit, archives) { $0.filter(filter.matches) }
    }

    /// The same, and the events about an item whose title or body has the filter's text: `reminded` names an item by its number
    /// alone, and people look for its words.
    ///
    /// - Complexity: as ``events(matching:newestFirst:from:limit:including:)``, and a look at each item that the events name.
    @available(
        *, noasync, message: "use `await store.log.eventsAboutItems`; this call blocks a thread that tasks share"
    )
    @_spi(Operations) public func eventsAboutItems(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100
    ) throws(TraylogError) -> Page<Event, Seq> {
        guard let text = filter.text else {
            return try events(matching: filter, newestFirst: newestFirst, from: from, limit: limit)
        }
        var others = filter
        others.text = nil
        return try search(filter, newestFirst, from, limit, nil) { part throws(TraylogError) in
            let named = part.filter { !$0.namedItems.isEmpty && others.matches($0) }
            let found = try seqs(of: named, withWords: text)
            return part.filter { found.contains($0.seq) || filter.matches($0) }
        }
    }

    /// Those of some events that have a text, or that name an item which has it in its title or body.
    @available(*, noasync, message: "use `await store.log.seqs`; this call blocks a thread that tasks share")
    @_spi(Operations) public func seqs(
        of events: [Event], withWords text: String
    ) throws(TraylogError) -> Set<Seq> {
        let words = EventFilter(text: text)
        var found = Set(events.filter(words.matches).map(\.seq))
        let rest = events.filter { !found.contains($0.seq) && !$0.namedItems.isEmpty }
        guard !rest.isEmpty else { return found }
        // What left the log has no words any more.
        let items = try queries.answer { store in
            Set(rest.flatMap(\.namedItems)).filter { item in (try? store.event(item)).map(words.matches) ?? false }
        }
        found.formUnion(rest.filter { !items.isDisjoint(with: $0.namedItems) }.map(\.seq))
        return found
    }

    private func search(
        _ filter: EventFilter, _ newestFirst: Bool, _ from: Seq?, _ limit: Int, _ archives: Archives?,
        _ choose: ([Event]) throws(TraylogError) -> [Event]
    ) throws(TraylogError) -> Page<Event, Seq> {
        guard limit >= 0 else { throw .refused(.invalid(field: "limit", reason: "must be 0 or more, not \(limit)")) }
        var (range, head) = try queries.answer { store in
            try filter.validate()
            return (try store.range(of: filter), Seq(store.head))
        }
        if let from {
            if newestFirst {
                range.last = min(range.last, from.rawValue)
            } else {
                range.first = max(range.first, from.rawValue)
            }
        }
        var scan = EventScan(
            queries: queries, archives: archives, user: filter.user, range: range, newestFirst: newestFirst,
            window: 1_000)
        var page = Page<Event, Seq>([], asOf: head)
        do throws(TraylogError) {
            while let part = try scan.next() {
                for event in try choose(part) {
                    guard page.elements.count < limit else {
                        page.next = event.seq
                        return page
                    }
                    page.elements.append(event)
                }
            }
        } catch {
            // What was found before the damage is an answer; the next page begins with it, and says so.
            guard error.failure?.code == .damaged, !page.elements.isEmpty else { throw error }
            page.next = scan.place
        }
        return page
    }
}

extension StoreLog {
    /// Events that match a filter, in one scan of the log.
    ///
    /// Items are found by ``TrayQueries/inbox(of:_:asOf:)``, whose ``ItemFilter/text`` is a search.
    ///
    /// ```swift
    /// let answers = try await store.log.events(matching: EventFilter(kinds: [.acted]), newestFirst: true)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(events in the range of the filter's times); with a user, of that user's own events.
    public func events(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100,
        including archives: Archives? = nil
    ) async throws(TraylogError) -> Page<Event, Seq> {
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.events(matching: filter, newestFirst: newestFirst, from: from, limit: limit, including: archives)
        }
    }

    /// The same, and the events about an item whose title or body has the filter's text.
    ///
    /// ```swift
    /// let filter = EventFilter(user: "ann", text: "invoice")
    /// for event in try await store.log.eventsAboutItems(matching: filter).elements { print(event.kind) }  // notified, then marked
    /// ```
    @_spi(Operations) public func eventsAboutItems(
        matching filter: EventFilter, newestFirst: Bool = false, from: Seq? = nil, limit: Int = 100
    ) async throws(TraylogError) -> Page<Event, Seq> {
        try await store.asking(atLength: true) { store throws(TraylogError) in
            try store.eventsAboutItems(matching: filter, newestFirst: newestFirst, from: from, limit: limit)
        }
    }

    /// Those of some events that have a text, or that name an item which has it in its title or body.
    @_spi(Operations) public func seqs(
        of events: [Event], withWords text: String
    ) async throws(TraylogError) -> Set<Seq> {
        try await store.asking { store throws(TraylogError) in try store.seqs(of: events, withWords: text) }
    }
}

extension Event {
    /// The items that it is about, beside one that it brings itself.
    fileprivate var namedItems: [Seq] {
        switch body {
        case .marked(_, let items): items
        case .snoozed(let item, _), .woken(let item), .edited(let item, _), .retracted(let item), .expired(let item),
            .acted(let item, _, _, _), .reminded(let item):
            [item]
        default: []
        }
    }
}

extension StoreSnapshot {
    /// The events that can be of the filter's times.
    ///
    /// Those below the floor may be in archives, whatever their times, and damaged ones at the ends may be of these times.
    fileprivate func range(of filter: EventFilter) throws -> (first: UInt64, last: UInt64) {
        func bounds(_ time: Timestamp, below: UInt64) throws -> ClosedRange<UInt64> {
            do { return try place(of: time).last } catch Refusal.compacted { return below...below }
        }
        let before = filter.since?.milliseconds.subtractingReportingOverflow(1)
        let first = try before.flatMap { $0.overflow ? nil : Timestamp(milliseconds: $0.partialValue) }.map { time in
            try bounds(time, below: 0).lowerBound + 1
        }
        let last = try filter.until.map { try bounds($0, below: record.floor.seq.rawValue).upperBound }
        return (first ?? 1, last ?? head)
    }
}
