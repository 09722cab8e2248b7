import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// Which items of a tray a page lists, as its address says.
struct ItemList {
    /// The fields of the form.
    static let filters = [
        "state", "text", "thread", "unthreaded", "category", "actor", "level", "since", "until", "silent",
    ]
    static let fields = ["asOf", "view"] + filters
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
        filter.includeSilent = visit.query["silent"] == "true"
        filter.categories = try visit.text("category", atMost: Limits.identifierBytes).map { [$0] } ?? []
        filter.actor = try visit.text("actor", atMost: Limits.identifierBytes)
        filter.text = try visit.text("text", atMost: Limits.titleBytes)
        if let name = visit.query["level"] { filter.level = try InterruptionLevel(named: name, by: "level") }
        filter.since = try visit.time("since")
        filter.until = try visit.time("until")
        query.filter = filter
    }

    private static func view(_ visit: Visit) -> String {
        visit.query["view"].flatMap(InboxQuery.View.init(rawValue:))?.rawValue ?? "inbox"
    }

    /// Whether the list is the whole view.
    var isFiltered: Bool { query.filter != ItemFilter() }

    /// The form, as it was sent.
    struct Form {
        let view: String
        let text, state, thread, category, actor, level, since, until: TypedFields.Field
        let states, levels: [Choice]
        let isUnthreaded, isSilent, hasMore, isFiltered: Bool

        init(_ visit: Visit, _ typed: TypedFields) {
            func choices(_ field: String, _ choices: KeyValuePairs<String, String>) -> [Choice] {
                choices.map { Choice(value: $0, title: $1, isChosen: $0 == visit.query[field]) }
            }
            view = ItemList.view(visit)
            (text, state, thread, category) = (typed["text"], typed["state"], typed["thread"], typed["category"])
            (actor, level, since, until) = (typed["actor"], typed["level"], typed["since"], typed["until"])
            states = choices("state", ["unread": "unread", "unseen": "unseen", "awaiting": "awaiting an answer"])
            levels = choices(
                "level", ["active": "active", "timeSensitive": "time-sensitive", "critical": "critical"])
            isUnthreaded = visit.query["unthreaded"] == "true"
            isSilent = visit.query["silent"] == "true"
            hasMore = filters.contains { !["state", "text"].contains($0) && visit.query[$0] != nil }
            isFiltered = !visit.kept(filters).isEmpty
        }
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
