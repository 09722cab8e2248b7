import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogServer

/// What the search box finds: an event by its number, users by any part of their names, events by key or words.
struct SearchPage: PageContent {
    static let template = PageTemplate.search

    struct Users {
        struct User {
            let user: Name
            let unread: String?
            let seen: Timestamp?
            let isHeld: Bool
        }

        let found: [User]
        let hasMore: Bool
    }

    struct Events {
        let rows: [EventRow.Shown]
        /// Whether older events were not searched for the key, and for the words.
        let hasMoreKeys, hasMoreWords: Bool
    }

    struct Rest {
        /// What was typed; nil for nothing.
        let asked: Name?
        /// Nil for who may not see them.
        var users: Users?
        var events: Events?
    }

    let asked: String?

    private static let shownUsers = 20
    private static let shownEvents = 20

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/search", .anybody, query: ["q"], shows: .persons) { visit in
                let text = (visit.query["q"] ?? "").trimmingSpaces
                if let address = try await event(text, visit) { return .seeOther(address) }
                return visit.page("Search", SearchPage(asked: text.isEmpty ? nil : text)) {
                    try await found(text, visit)
                }
            }
        ]
    }

    /// The page of an event whose number was typed, where there is no user of that name.
    private static func event(_ text: String, _ visit: Visit) async throws -> String? {
        guard visit.may(.audit), let seq = TypedTime.number(text)?.seq, seq > .zero else { return nil }
        guard try await seq <= visit.store.log.head() else { return nil }
        let named = try await visit.store.users(prefix: text, limit: 1).elements.first
        return named.map { $0.utf8.elementsEqual(text.utf8) } == true ? nil : "\(visit.site)/events/\(seq)"
    }

    private static func found(_ text: String, _ visit: Visit) async throws -> Rest {
        guard !text.isEmpty else { return Rest(asked: nil) }
        var rest = Rest(asked: Name(text))
        if visit.may(.users) {
            let found = try await UserSearch(part: text, after: nil, limit: shownUsers).run(in: visit.stores)
            let held = await visit.heldNames()
            var users: [Users.User] = []
            for user in found.users {
                let tray = try await user.store.tray(of: user.name)
                users.append(
                    Users.User(
                        user: Name(user.name), unread: tray.unread > 0 ? Figures.count(tray.unread) : nil,
                        seen: tray.seenAt, isHeld: held.contains(Array(user.name.utf8))))
            }
            rest.users = Users(found: users, hasMore: found.next != nil)
        }
        if visit.may(.audit) {
            var (byKey, byText) = (EventFilter(), EventFilter())
            (byKey.key, byText.text) = (text, text)
            let keyed = try await LogSearch(byKey, limit: shownEvents, budget: LogSearch.budget / 2).run(
                below: nil, in: visit.store)
            let worded = try await LogSearch(byText, limit: shownEvents, budget: LogSearch.budget / 2).run(
                below: nil, in: visit.store)
            let known = Set(keyed.events.map(\.seq))
            let events = keyed.events + worded.events.filter { !known.contains($0.seq) }
            try await visit.reader().record(events)
            let rows = await EventRow.withSubjects(events.map { EventRow(event: $0) }, visit.store, words: text)
            // A key is of one event.
            let hasMoreKeys = keyed.events.isEmpty && keyed.next != nil
            rest.events = Events(
                rows: rows.map(\.shown), hasMoreKeys: hasMoreKeys, hasMoreWords: worded.next != nil)
        }
        return rest
    }
}
