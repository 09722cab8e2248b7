import Hummingbird
@_spi(Operations) import Traylog

/// Who looked at a person's notifications, and what for: the `audited` events.
enum LookedPage {
    private static let rows = 100
    /// Own events that one step looks at.
    private static let window = 1_000

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/looked", .key(.audit), query: ["before"]) { visit in
                let user = visit.segment("u")
                let before = try visit.seq("before")
                let page = try await looks(at: user, from: before.map { $0 - 1 }, visit.store)
                var context = UserPages.top(visit, "looked")
                context["isEmpty"] = page.looks.isEmpty
                context["recordsAccess"] =
                    visit.store.upkeepRecord.recordsAccessSince.map { [Moments.context($0)] } ?? []
                context["looks"] = page.looks.map { event -> [String: Any] in
                    var purpose: String?
                    if case .audited(let said, _) = event.body { purpose = said }
                    return [
                        "seq": event.seq.description, "recordedAt": [Moments.context(event.recordedAt)],
                        "actor": event.actor ?? user, "device": event.device ?? "", "purpose": purpose ?? "",
                    ]
                }
                context["next"] = page.next.map { [["before": ($0 + 1).description]] } ?? []
                context["isPending"] = page.next != nil
                return visit.page(.looked, "Who looked at \(user)", context)
            }
        ]
    }

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
