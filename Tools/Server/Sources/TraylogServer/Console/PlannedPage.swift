import Hummingbird
@_spi(Operations) import Traylog

/// What was notified or broadcast for later and has not arrived.
enum PlannedPage {
    private static let rows = 50

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/planned", .key(.users), query: ["after"], shows: .persons) { visit in
                let page = try await visit.store.scheduled(after: visit.query["after"], limit: rows)
                try await visit.reader().record(persons: page.elements.compactMap(\.user))
                let items = page.elements.map { item -> [String: Any] in
                    [
                        "seq": item.seq.description, "at": [Moments.context(item.notBefore)],
                        "user": item.user ?? "", "isOfUser": item.user != nil,
                        "path": item.user.map(PercentEncoding.encode) ?? "", "topic": item.topic ?? "",
                        "title": item.title ?? "", "hasTitle": item.title != nil,
                    ]
                }
                return visit.page(
                    .planned, "Planned",
                    [
                        "section": "users", "items": items, "isEmpty": items.isEmpty,
                        "next": page.next.map { [["after": $0]] } ?? [],
                    ])
            }
        ]
    }
}
