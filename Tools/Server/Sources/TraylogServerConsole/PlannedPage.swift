import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// What was notified or broadcast for later and has not arrived.
struct PlannedPage: PageContent {
    static let template = PageTemplate.planned

    struct Item {
        let seq: Seq
        let at: Timestamp
        /// Nil for a broadcast.
        let user: Name?
        let topic: String
        let title: String?
    }

    /// Whose items alone they are; nil for everybody's.
    let user: Name?
    let items: [Item]
    let next: String?

    private static let rows = 50

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/planned", .key(.users), query: ["after", "user"], shows: .persons) { visit in
                let user = visit.query["user"]
                let page = try await visit.store.scheduled(of: user, after: visit.query["after"], limit: rows)
                try await visit.reader(isOfOne: user != nil).record(persons: page.elements.compactMap(\.user))
                let items = page.elements.map {
                    Item(
                        seq: $0.seq, at: $0.notBefore, user: $0.user.map(Name.init), topic: $0.topic ?? "",
                        title: $0.title)
                }
                return visit.page("Planned", PlannedPage(user: user.map(Name.init), items: items, next: page.next))
            }
        ]
    }
}
