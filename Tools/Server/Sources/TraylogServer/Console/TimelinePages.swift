import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog

/// What was done, by whom: to one tray with its effect, and in the whole log.
enum TimelinePages {
    /// Rows of the page that is opened, which fill a screen, and of those that come as one scrolls.
    private static func pageRows(_ visit: Visit) -> Int { visit.query["before"] == nil ? 40 : 100 }
    /// Own events that one step of a filtered page looks at, and steps of a page.
    private static let window = 1_000
    private static let windows = 20
    private static let fields = [
        "actor", "device", "kind", "text", "thread", "category", "key", "since", "until", "before",
    ]

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/timeline", .key(.audit), query: fields) { visit in
                let person = Person(visit, .timeline)
                let title = "Timeline of \(person.user)"
                let filter: EventFilter
                do {
                    filter = try Self.filter(visit)
                    // All that can be wrong with the request.
                    _ = try await newest(visit, filter)
                } catch {
                    let typed = try refused(error, visit)
                    let top = TimelinePage(person: person, filter: form(typed, visit, isLog: false))
                    return visit.page(title, top, typed.status) {
                        TimelinePage.Rest(person: person, events: await events([], nil, visit))
                    }
                }
                let top = TimelinePage(person: person, filter: form(visit.typedFields, visit, isLog: false))
                return visit.page(title, top) {
                    let (rows, next) = try await steps(visit, filter)
                    return TimelinePage.Rest(person: person, events: await events(rows, next, visit))
                }
            },
            ConsolePage(.get, "/log", .key(.audit), query: fields + ["user", "topic"], shows: .persons) { visit in
                let filter: EventFilter
                do {
                    filter = try Self.filter(visit)
                    _ = try visit.seq("before")
                } catch {
                    let typed = try refused(error, visit)
                    return visit.page("Log", LogPage(filter: form(typed, visit, isLog: true)), typed.status) {
                        await events([], nil, visit)
                    }
                }
                return visit.page("Log", LogPage(filter: form(visit.typedFields, visit, isLog: true))) {
                    let (found, next) = try await log(visit, filter)
                    try await visit.reader(isOfOne: filter.user != nil).record(found)
                    return await events(found.map { EventRow(event: $0) }, next, visit)
                }
            },
        ]
    }

    private static func filter(_ visit: Visit) throws -> EventFilter {
        var filter = EventFilter()
        (filter.actor, filter.device, filter.user) = (visit.query["actor"], visit.query["device"], visit.query["user"])
        (filter.thread, filter.category, filter.key) = (
            visit.query["thread"], visit.query["category"], visit.query["key"]
        )
        filter.text = try visit.text("text", atMost: Limits.titleBytes)
        if let name = visit.query["kind"] {
            guard let kind = EventKind(rawValue: name) else { throw Problem.invalid("kind", "is no kind of event") }
            filter.kinds = [kind]
        }
        filter.since = try visit.time("since")
        filter.until = try visit.time("until")
        return filter
    }

    private static func refused(_ error: any Error, _ visit: Visit) throws -> TypedFields {
        guard let typed = visit.refused(error, fields: ["since", "until", "kind", "text"]) else { throw error }
        return typed
    }

    /// The form as it was sent.
    private static func form(_ typed: TypedFields, _ visit: Visit, isLog: Bool) -> EventFilterForm {
        let kind = visit.query["kind"]
        return EventFilterForm(
            isLog: isLog, isFiltered: !kept(visit).isEmpty,
            hasMore: ["device", "thread", "category", "key", "topic"].contains { visit.query[$0] != nil },
            user: typed["user"], actor: typed["actor"], kind: typed["kind"], text: typed["text"], since: typed["since"],
            until: typed["until"], device: typed["device"], thread: typed["thread"], category: typed["category"],
            key: typed["key"], topic: typed["topic"],
            kinds: EventKind.allCases.map {
                Choice(value: $0.rawValue, title: $0.title, isChosen: $0.rawValue == kind)
            })
    }

    private static func events(_ rows: [EventRow], _ next: Seq?, _ visit: Visit) async -> EventList {
        let kept = kept(visit)
        return EventList(
            rows: await EventRow.withSubjects(rows, visit.store, words: visit.query["text"]).map(\.shown),
            next: next.map { EventList.Next(before: $0, filter: kept) }, isFiltered: !kept.isEmpty,
            isFirst: visit.query["before"] == nil, hasTable: !rows.isEmpty || next != nil,
            isPending: rows.isEmpty && next != nil)
    }

    /// The filter as the address of the next page has it.
    private static func kept(_ visit: Visit) -> String { visit.kept(fields.dropLast() + ["user", "topic"]) }

    // MARK: One tray

    /// The newest steps below `before` that match, newest first, and where to go on.
    private static func steps(_ visit: Visit, _ filter: EventFilter) async throws -> (rows: [EventRow], next: Seq?) {
        let (store, user) = (visit.store, visit.segment("u"))
        let isFiltered = filter != EventFilter()
        var own = EventFilter()
        (own.user, own.since, own.until) = (user, filter.since, filter.until)
        var matching = filter
        (matching.user, matching.text) = (nil, nil)
        var high = try await newest(visit, filter)
        var rows: [EventRow] = []
        var rounds = 0
        let start = ContinuousClock.now
        while high > .zero {
            let page = try await store.log.events(
                matching: own, newestFirst: true, from: high, limit: isFiltered ? window : pageRows(visit))
            let low = page.next == nil ? nil : page.elements.last?.seq
            let steps = try await store.proofs.auditSteps(of: user, from: low.map(Moment.seq), to: .seq(high)).steps
            let events = try await store.proofs.events(of: steps)
            // Most events name their item by its number; words are those of the item, too.
            var worded: Set<Seq>?
            if let text = filter.text { worded = try await store.log.seqs(of: events, withWords: text) }
            for (step, event) in zip(steps, events).reversed() where matching.matches(event) {
                if worded?.contains(event.seq) ?? true { rows.append(EventRow(event: event, step: step)) }
            }
            guard let low else { return (try await voided(rows, visit), nil) }
            high = low - 1
            rounds += 1
            let isLate = ContinuousClock.now - start > LogSearch.budget
            if rows.count >= pageRows(visit) || !isFiltered || rounds == windows || isLate {
                return (try await voided(rows, visit), low)
            }
        }
        return (try await voided(rows, visit), nil)
    }

    /// The newest event that a page may show.
    private static func newest(_ visit: Visit, _ filter: EventFilter) async throws -> Seq {
        var high = try await visit.store.log.head()
        if let until = filter.until { high = min(high, try await visit.store.log.seq(of: .time(until))) }
        if let before = try visit.seq("before") { high = min(high, before - 1) }
        return high
    }

    /// The rows, with the undo that voided each.
    private static func voided(_ rows: [EventRow], _ visit: Visit) async throws -> [EventRow] {
        guard rows.contains(where: { $0.event.kind.isUndoable }) else { return rows }
        let voided = try await visit.store.voidedEvents(of: visit.segment("u"))
        return rows.map { row in
            var row = row
            row.voidedBy = voided[row.event.seq]
            return row
        }
    }

    // MARK: The log

    private static func log(_ visit: Visit, _ filter: EventFilter) async throws -> (events: [Event], next: Seq?) {
        let before = try visit.seq("before")
        if before ?? 2 <= 1 { return ([], nil) }
        let search = LogSearch(filter, topic: visit.query["topic"], limit: pageRows(visit))
        return try await search.run(below: before, in: visit.store)
    }
}

struct TimelinePage: PageContent {
    static let template = PageTemplate.timeline

    struct Rest {
        let person: Person
        let events: EventList
    }

    let person: Person
    let filter: EventFilterForm
}

struct LogPage: PageContent {
    typealias Rest = EventList
    static let template = PageTemplate.log
    let filter: EventFilterForm
}

/// The form that filters events.
struct EventFilterForm {
    let isLog, isFiltered, hasMore: Bool
    let user, actor, kind, text, since, until, device, thread, category, key, topic: TypedFields.Field
    let kinds: [Choice]
}

/// Rows, and where the next ones are.
struct EventList {
    struct Next {
        let before: Seq
        let filter: String
    }

    let rows: [EventRow.Shown]
    let next: Next?
    let isFiltered, isFirst, hasTable, isPending: Bool
}
