import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// Who looked at a person's notifications, and what for: the `audited` events.
struct LookedPage: PageContent {
    static let template = PageTemplate.looked

    struct Look {
        let seq: Seq
        let recordedAt: Timestamp
        let actor, place, purpose: String
    }

    let person: Person
    /// Since when other reading than of complete histories is recorded; nil where it is not.
    let recordsAccess: Timestamp?
    let looks: [Look]
    let next: Seq?

    private static let rows = 100
    /// Own events that one step looks at.
    private static let window = 1_000

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/looked", .key(.audit), query: ["before"]) { visit in
                let user = visit.segment("u")
                let before = try visit.seq("before")
                let page = try await looks(at: user, from: before.map { $0 - 1 }, visit.store)
                let content = LookedPage(
                    person: Person(visit, .looked), recordsAccess: visit.store.upkeepRecord.recordsAccessSince,
                    looks: page.looks.map { event in
                        var purpose: String?
                        if case .audited(let said, _) = event.body { purpose = said }
                        return Look(
                            seq: event.seq, recordedAt: event.recordedAt, actor: event.actor ?? user,
                            place: place(event.device), purpose: purpose ?? "")
                    },
                    next: page.next.map { $0 + 1 })
                return visit.page("Who looked at \(user)", content)
            }
        ]
    }

    /// Where somebody looked, as the record has it, in words.
    ///
    /// - Parameter device: the page or route that shows several persons; nil for the person's own.
    static func place(_ device: String?) -> String {
        guard let device else { return "the person's own pages" }
        let ofOne = Reader.ofOnePerson
        let path = device.hasSuffix(ofOne) ? String(device.dropLast(ofOne.count)) : device
        let words = pages[path] ?? (path.hasPrefix("/v1/") ? "a program, by \(path)" : path)
        return device.hasSuffix(ofOne) ? "\(words), of this person" : words
    }

    private static let pages = [
        "/console": "overview", "/console/log": "log", "/console/search": "search", "/console/planned": "planned",
        "/console/operations": "operations", "/console/events/{seq}": "an event's page",
        "/console/events/{seq}/disclosure": "an event's proof",
    ]

    /// The newest looks at or below an event, as far back among the person's events as a page has time for.
    ///
    /// - Returns: the looks, and the newest event that was not looked at.
    private static func looks(at user: String, from first: Seq?, _ store: Store) async throws -> (
        looks: [Event], next: Seq?
    ) {
        var filter = EventFilter()
        filter.user = user
        let start = ContinuousClock.now
        var (looks, next) = ([Event](), first)
        while true {
            let page = try await store.log.events(matching: filter, newestFirst: true, from: next, limit: window)
            for event in page.elements where event.kind == .audited {
                looks.append(event)
                if looks.count == rows, event.seq > 1 { return (looks, event.seq - 1) }
            }
            guard let following = page.next else { return (looks, nil) }
            next = following
            if ContinuousClock.now - start > LogSearch.budget { return (looks, next) }
        }
    }
}
