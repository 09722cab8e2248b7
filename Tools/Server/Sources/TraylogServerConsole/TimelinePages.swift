import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// What was done, by whom: to one tray with its effect, and in the whole log.
enum TimelinePages {
    /// Rows of the page that is opened, which fill a screen, and of those that come as one scrolls.
    private static func pageRows(_ visit: Visit) -> Int { visit.query["before"] == nil ? 40 : 100 }
    /// Own events that one step of a filtered page looks at, and steps of a page.
    private static let window = 1_000
    private static let windows = 20
    private static let fields = [
        "actor", "device", "kind", "text", "thread", "category", "key", "since", "until", "looks", "before",
    ]
    private static let logFields = fields + ["user", "topic"]
    /// Those whose value is a member of the events that match.
    static let members = Set(logFields).subtracting(["text", "since", "until", "looks", "before"])

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
                        TimelinePage.Rest(person: person, events: await events(Found(), visit))
                    }
                }
                let top = TimelinePage(person: person, filter: form(visit.typedFields, visit, isLog: false))
                return visit.page(title, top) {
                    let found = try await steps(visit, filter)
                    return TimelinePage.Rest(person: person, events: await events(found, visit))
                }
            },
            ConsolePage(.get, "/log", .key(.audit), query: logFields, shows: .persons) { visit in
                let filter: EventFilter
                do {
                    filter = try Self.filter(visit)
                    _ = try visit.seq("before")
                } catch {
                    let typed = try refused(error, visit)
                    return visit.page("Log", LogPage(filter: form(typed, visit, isLog: true)), typed.status) {
                        await events(Found(), visit)
                    }
                }
                return visit.page("Log", LogPage(filter: form(visit.typedFields, visit, isLog: true))) {
                    let found = try await log(visit, filter)
                    try await visit.reader(isOfOne: filter.user != nil).record(found.rows.map(\.event))
                    return await events(found, visit)
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

    /// Whether the rows have looks, too: who reads is no news to readers.
    private static func hasLooks(_ visit: Visit) -> Bool { visit.query["looks"] == "true" }

    private static func refused(_ error: any Error, _ visit: Visit) throws -> TypedFields {
        guard let typed = visit.refused(error, fields: ["since", "until", "kind", "text"]) else { throw error }
        return typed
    }

    /// The form as it was sent.
    private static func form(_ typed: TypedFields, _ visit: Visit, isLog: Bool) -> EventFilterForm {
        let kind = visit.query["kind"]
        return EventFilterForm(
            isLog: isLog, isFiltered: !kept(visit).isEmpty, hasLooks: hasLooks(visit),
            hasMore: ["device", "thread", "category", "key", "topic"].contains { visit.query[$0] != nil },
            user: typed["user"], actor: typed["actor"], kind: typed["kind"], text: typed["text"], since: typed["since"],
            until: typed["until"], device: typed["device"], thread: typed["thread"], category: typed["category"],
            key: typed["key"], topic: typed["topic"],
            kinds: EventKind.allCases.map {
                Choice(value: $0.rawValue, title: $0.title, isChosen: $0.rawValue == kind)
            })
    }

    /// The rows of a page, and where the next ones are.
    private struct Found {
        var rows: [EventRow] = []
        var next: Seq?
        /// A damaged event, in whose place the rows end.
        var damage: Visit.Trouble?
        /// Why the rows have no counts.
        var uncounted: Visit.Trouble?
    }

    private static func events(_ found: Found, _ visit: Visit) async -> EventList {
        let (kept, rows, next) = (kept(visit), found.rows, found.next)
        return EventList(
            rows: await EventRow.withSubjects(rows, visit.store, words: visit.query["text"]).map(\.shown),
            damage: found.damage.flatMap { trouble in
                trouble.event.map { EventList.Damage(seq: $0, finding: trouble.finding) }
            },
            uncounted: found.uncounted?.finding, next: next.map { EventList.Next(before: $0, filter: kept) },
            isFiltered: !kept.isEmpty, isFirst: visit.query["before"] == nil,
            hasTable: !rows.isEmpty || next != nil,
            isPending: rows.isEmpty && next != nil && found.damage == nil,
            asKey: visit.query["key"] == nil ? visit.query["text"].map(Name.init) : nil)
    }

    /// The filter as the address of the next page has it.
    private static func kept(_ visit: Visit) -> String { visit.kept(logFields.filter { $0 != "before" }) }

    // MARK: One tray

    /// The newest steps below `before` that match, newest first, and where to go on.
    private static func steps(_ visit: Visit, _ filter: EventFilter) async throws -> Found {
        let (store, user) = (visit.store, visit.segment("u"))
        let isFiltered = filter != EventFilter()
        var own = EventFilter()
        (own.user, own.since, own.until) = (user, filter.since, filter.until)
        if filter.kinds.isEmpty, !hasLooks(visit) { own.kinds = LogSearch.withoutLooks }
        var matching = filter
        (matching.user, matching.text) = (nil, nil)
        if filter.kinds.isEmpty { matching.kinds = own.kinds }
        var high = try await newest(visit, filter)
        var found = Found()
        var rounds = 0
        let start = ContinuousClock.now
        while high > .zero {
            let limit = isFiltered ? window : pageRows(visit)
            let page: Page<Event, Seq>
            do throws(TraylogError) {
                page = try await store.log.events(
                    matching: own, newestFirst: true, from: high, limit: limit)
            } catch {
                // The newest event that was left is the damaged one, unless a time had to be looked up.
                guard let seq = error.failure?.event, seq <= high, own.since == nil, own.until == nil else {
                    throw error
                }
                found.damage = try await visit.trouble { throw error }
                found.next = seq
                break
            }
            let low = page.next == nil ? nil : page.elements.last?.seq
            var rows: [EventRow] = []
            let uncounted = try await visit.trouble {
                let steps = try await store.proofs.auditSteps(of: user, from: low.map(Moment.seq), to: .seq(high)).steps
                rows = zip(steps, try await store.proofs.events(of: steps)).map { EventRow(event: $1, step: $0) }
            }
            // Counts need all that was before; the events of the person do not.
            if let uncounted {
                rows = page.elements.reversed().map { EventRow(event: $0) }
                found.uncounted = found.uncounted ?? uncounted
            }
            // Most events name their item by its number; words are those of the item, too.
            var worded: Set<Seq>?
            if let text = filter.text {
                worded = try await store.log.seqs(of: rows.map(\.event), withAll: LogSearch.words(text))
            }
            found.rows += rows.reversed().filter { row in
                matching.matches(row.event) && worded?.contains(row.event.seq) ?? true
            }
            guard let low else { break }
            high = low - 1
            rounds += 1
            let isLate = ContinuousClock.now - start > LogSearch.budget
            // A damaged event ends a page early.
            let isFull = !isFiltered && page.elements.count == limit
            if found.rows.count >= pageRows(visit) || isFull || rounds == windows || isLate {
                found.next = low
                break
            }
        }
        found.rows = try await voided(found.rows, visit)
        return found
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

    private static func log(_ visit: Visit, _ filter: EventFilter) async throws -> Found {
        let before = try visit.seq("before")
        if before ?? 2 <= 1 { return Found() }
        let search = LogSearch(
            filter, looks: hasLooks(visit), topic: visit.query["topic"], limit: pageRows(visit))
        let found = try await search.run(below: before, in: visit.store)
        var page = Found(rows: found.events.map { EventRow(event: $0) }, next: found.next)
        if let damage = found.damage { page.damage = try await visit.trouble { throw damage } }
        return page
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
    let isLog, isFiltered, hasLooks, hasMore: Bool
    let user, actor, kind, text, since, until, device, thread, category, key, topic: TypedFields.Field
    let kinds: [Choice]
}

/// Rows, and where the next ones are.
struct EventList {
    struct Next {
        let before: Seq
        let filter: String
    }

    /// A damaged event.
    struct Damage {
        let seq: Seq
        let finding: Finding
    }

    let rows: [EventRow.Shown]
    /// In whose place the rows end.
    let damage: Damage?
    /// Why the rows have no counts.
    let uncounted: Finding?
    let next: Next?
    let isFiltered, isFirst, hasTable, isPending: Bool
    /// The words that were searched, which may be a key: nil where one was.
    let asKey: Name?
}
