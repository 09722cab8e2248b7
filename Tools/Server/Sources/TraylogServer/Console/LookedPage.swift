import Hummingbird
import Traylog

/// Who looked at a person's notifications, and what for: the `audited` events.
enum LookedPage {
    private static let rows = 100

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/looked", .key(.audit), query: ["before"]) { visit in
                let user = visit.segment("u")
                let before = try visit.number("before")
                var filter = EventFilter()
                (filter.user, filter.kinds) = (user, [.audited])
                let page = try await visit.store.search(
                    filter, newestFirst: true, from: before.map { Seq($0 > 0 ? $0 - 1 : 0) }, limit: rows)
                var context = UserPages.top(visit, "looked")
                context["isEmpty"] = page.elements.isEmpty
                context["recordsAccess"] = visit.service.accessLog != nil
                context["looks"] = page.elements.map { event -> [String: Any] in
                    var purpose: String?
                    if case .audited(let said, _) = event.body { purpose = said }
                    return [
                        "seq": event.seq.description, "recordedAt": [Moments.context(event.recordedAt)],
                        "actor": event.actor ?? user, "device": event.device ?? "", "purpose": purpose ?? "",
                    ]
                }
                context["next"] = page.next.map { [["before": Seq($0.rawValue + 1).description]] } ?? []
                return visit.page("looked", "Who looked at \(user)", context)
            }
        ]
    }
}
