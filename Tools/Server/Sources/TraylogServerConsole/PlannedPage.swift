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
        /// Whether a legal hold is on the user; said in a list of everybody's.
        let isHeld: Bool
        let topic: String
        let title: String?
    }

    /// Whose items alone they are; nil for everybody's.
    let user: Name?
    let hold: Hold?
    let items: [Item]
    let next: String?

    private static let rows = 50

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/planned", .key(.users), query: ["after", "user"], shows: .persons) { visit in
                let user = visit.query["user"]
                let page = try await visit.store.scheduled(of: user, after: visit.query["after"], limit: rows)
                try await visit.reader(isOfOne: user != nil).record(persons: page.elements.compactMap(\.user))
                let held = user == nil ? await visit.heldNames() : []
                let items = page.elements.map { item in
                    Item(
                        seq: item.seq, at: item.notBefore, user: item.user.map(Name.init),
                        isHeld: item.user.map { held.contains(Array($0.utf8)) } ?? false, topic: item.topic ?? "",
                        title: item.title)
                }
                var hold: Event?
                // A log that cannot be read for it leaves the page without, as those of the person.
                if let user { hold = try? await visit.service.holds.hold(of: user) }
                let content = PlannedPage(
                    user: user.map(Name.init), hold: hold.map(Hold.init), items: items, next: page.next)
                return visit.page("Planned", content)
            }
        ]
    }
}
