import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog

/// What the search box finds: an event by its number, users by any part of their names, events by key or words.
enum SearchPage {
    private static let shownUsers = 20
    private static let shownEvents = 20

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/search", .anybody, query: ["q"], shows: .persons) { visit in
                let text = (visit.query["q"] ?? "").trimmingSpaces
                if let address = try await event(text, visit) { return .seeOther(address) }
                return visit.page(.search, "Search", text.isEmpty ? [:] : ["typed": text]) {
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

    private static func found(_ text: String, _ visit: Visit) async throws -> [String: Any] {
        var context: [String: Any] = ["typed": text, "path": PercentEncoding.encode(text), "isAsked": !text.isEmpty]
        guard !text.isEmpty else { return context }
        if visit.may(.users) {
            let found = try await UserSearch(part: text, after: nil, limit: shownUsers).run(in: visit.stores)
            context["mayUsers"] = true
            var users: [[String: Any]] = []
            for user in found.users {
                let tray = try await user.store.tray(of: user.name)
                users.append([
                    "user": user.name, "path": PercentEncoding.encode(user.name), "unread": Figures.count(tray.unread),
                    "hasUnread": tray.unread > 0, "seen": tray.seenAt.map { [Moments.context($0)] } ?? [],
                ])
            }
            context["users"] = users
            context["hasUsers"] = !found.users.isEmpty
            context["hasMoreUsers"] = found.next != nil
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
            context["mayAudit"] = true
            context["rows"] = await EventRow.withSubjects(events.map { EventRow(event: $0) }, visit.store, words: text)
                .map(\.context)
            context["hasRows"] = !events.isEmpty
            context["hasMoreEvents"] = keyed.next != nil || worded.next != nil
        }
        return context
    }
}
