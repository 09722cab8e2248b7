import Hummingbird
@_spi(Operations) import Traylog

/// Which items of a tray a page lists, as its address says.
struct ItemList {
    /// The fields of the form.
    static let filters = [
        "state", "text", "thread", "unthreaded", "category", "actor", "level", "since", "until",
    ]
    static let fields = ["asOf", "view"] + filters
    private static let states = [("unread", "unread"), ("unseen", "unseen"), ("awaiting", "awaiting an answer")]

    var query: InboxQuery
    /// `inbox`, `archived` or `snoozed`.
    let view: String

    /// - Throws: ``Problem`` 400 with the field that cannot be read.
    init(_ visit: Visit, limit: Int) throws(Problem) {
        view = Self.view(visit)
        query = InboxQuery(limit: limit)
        query.view = InboxQuery.View(rawValue: view) ?? .inbox
        var filter = ItemFilter()
        switch visit.query["state"] {
        case nil: break
        case "unread": filter.onlyUnread = true
        case "unseen": filter.onlyUnseen = true
        case "awaiting": filter.onlyAwaiting = true
        default: throw .invalid("state", "must be unread, unseen or awaiting")
        }
        if let thread = try visit.text("thread", atMost: Limits.identifierBytes) { filter.thread = .named(thread) }
        if visit.query["unthreaded"] == "true" { filter.thread = .unthreaded }
        filter.categories = try visit.text("category", atMost: Limits.identifierBytes).map { [$0] } ?? []
        filter.actor = try visit.text("actor", atMost: Limits.identifierBytes)
        filter.text = try visit.text("text", atMost: Limits.titleBytes)
        if let name = visit.query["level"] {
            guard let level = InterruptionLevel(rawValue: name) else {
                throw .invalid("level", "must be passive, active, timeSensitive or critical")
            }
            filter.level = level
        }
        filter.since = try visit.time("since")
        filter.until = try visit.time("until")
        query.filter = filter
    }

    private static func view(_ visit: Visit) -> String {
        visit.query["view"].flatMap(InboxQuery.View.init(rawValue:))?.rawValue ?? "inbox"
    }

    /// Whether the list is the whole view.
    var isFiltered: Bool { query.filter != ItemFilter() }

    /// The form as it was sent.
    static func form(_ visit: Visit) -> [String: Any] {
        var context: [String: Any] = [:]
        for name in filters { context["f-" + name] = visit.query[name] ?? "" }
        context["f-states"] = states.map { option($0.0, $0.1, visit.query["state"]) }
        context["f-levels"] = [("active", "active"), ("timeSensitive", "time-sensitive"), ("critical", "critical")]
            .map { option($0.0, $0.1, visit.query["level"]) }
        let more = filters.filter { !["state", "text"].contains($0) && visit.query[$0] != nil }
        context["f-isUnthreaded"] = visit.query["unthreaded"] == "true"
        context["f-hasMore"] = !more.isEmpty
        context["f-isFiltered"] = !visit.kept(filters).isEmpty
        context["f-view"] = view(visit)
        return context
    }

    private static func option(_ value: String, _ title: String, _ chosen: String?) -> [String: Any] {
        ["value": value, "title": title, "isChosen": value == chosen]
    }
}

extension Visit {
    /// Fields of this address as another one has them: `&thread=ci&state=unread`.
    func kept(_ names: [String]) -> String {
        names.compactMap { name in query[name].map { "&\(name)=\(PercentEncoding.encode($0))" } }.joined()
    }

    /// - Throws: ``Problem`` 400 for a longer one.
    func text(_ name: String, atMost bytes: Int) throws(Problem) -> String? {
        guard let text = query[name], text.utf8.count > bytes else { return query[name] }
        throw .invalid(name, "must have at most \(bytes) bytes")
    }
}
