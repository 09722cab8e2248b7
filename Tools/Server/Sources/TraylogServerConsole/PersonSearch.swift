import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog
import TraylogServer

/// What the search of a person's page finds beside the items of its list: in other views, sent silently, planned, gone, or by key
/// and number.
struct PersonSearch {
    /// Another list that has items which match.
    struct Elsewhere {
        let title, address, matches: String
    }

    /// Items that are named because a list may not have them.
    struct Group {
        let title: String
        let items: [Named]
    }

    struct Named {
        let seq: Seq
        let title: String

        init(_ item: Item) { (seq, title) = (item.seq, item.content.title ?? "Item \(item.seq)") }
    }

    var elsewhere: [Elsewhere] = []
    var groups: [Group] = []
    /// Events of the person that are damaged, so that nobody knows whether they match; nil for none.
    var unread: String?
    /// The event below which nothing was searched.
    var searchedTo: Seq?

    /// The words of a list without items.
    var nothing = ""
    /// Whether something matches all the same, which then comes first.
    var isFound = false

    private static let mostNamed = 10
    /// Matches of another list are counted so far.
    static let mostCounted = 20

    /// Searches for what a list without a match, or one that cannot be read, may lack.
    ///
    /// - Parameters:
    ///   - address: what the addresses of other lists keep of this one.
    ///   - list: the items that the page lists; nil where they cannot be read.
    ///   - planned: what is planned for the person, as far as that is known.
    static func run(
        _ visit: Visit, _ query: InboxQuery, asOf: Seq, at: Moment?, address: String, list: [Seq]?,
        planned: [ScheduledItem]
    ) async throws -> PersonSearch {
        var found = PersonSearch()
        guard query.cursor == nil else { return found }
        if list?.isEmpty ?? true { found.elsewhere = try await elsewhere(visit, query, at, address) }
        if let text = query.filter.text {
            let named = try await named(text, visit, at)
            found.add("With this key or number", named.filter { !(list ?? []).contains($0.seq) })
            if let matches = try await matches(text, among: planned, visit) {
                let user = PercentEncoding.encode(visit.segment("u"))
                let address = "\(visit.prefix)\(visit.site)/planned?user=\(user)"
                found.elsewhere.append(Elsewhere(title: "Planned", address: address, matches: matches))
            }
            let worded = try await worded(text, visit, asOf, at)
            (found.unread, found.searchedTo) = (worded.unread, worded.next)
            let items = worded.items.filter { item in !named.contains { $0.seq == item.seq } }
            // Where the list cannot be read, what is left of it is named here.
            if list == nil { found.add("In the tray, with these words", items.filter { !$0.isGone && !$0.isDeleted }) }
            let isInTray = !found.groups.isEmpty
            let gone = items.filter { $0.isGone || $0.isDeleted }
            found.add("No longer in the tray, with these words", gone)
            if !isInTray, !gone.isEmpty { found.nothing = "Nothing that is still in the tray matches" }
        }
        if !found.elsewhere.isEmpty || (found.nothing.isEmpty && !found.groups.isEmpty) {
            found.nothing = "No item of \(query.view == .inbox ? "the inbox" : "this view") matches"
        }
        if found.nothing.isEmpty {
            found.nothing = found.unread == nil ? "No item matches" : "No item that can be read matches"
        }
        found.isFound = !found.elsewhere.isEmpty || !found.groups.isEmpty
        return found
    }

    private mutating func add(_ title: String, _ items: [Item]) {
        guard !items.isEmpty else { return }
        groups.append(Group(title: title, items: items.prefix(Self.mostNamed).map(Named.init)))
    }

    // MARK: Other lists

    /// How many items match in the other views of the tray, and among those that were sent silently.
    private static func elsewhere(
        _ visit: Visit, _ query: InboxQuery, _ at: Moment?, _ address: String
    ) async throws -> [Elsewhere] {
        var found: [Elsewhere] = []
        let titles = [(InboxQuery.View.inbox, "Inbox"), (.archived, "Archived"), (.snoozed, "Snoozed")]
        for (view, title) in titles {
            for isSilent in query.filter.includeSilent ? [true] : [false, true] {
                guard view != query.view || isSilent != query.filter.includeSilent else { continue }
                var other = query
                (other.view, other.limit, other.filter.includeSilent) = (view, mostCounted, isSilent)
                var page: Page<Item, Traylog.Cursor>?
                // What is damaged is said above the list.
                _ = try await visit.trouble {
                    page = try await visit.store.inbox(of: visit.segment("u"), other, asOf: at)
                }
                guard let page, !page.elements.isEmpty else { continue }
                let isAdded = isSilent && !query.filter.includeSilent
                found.append(
                    Elsewhere(
                        title: isAdded ? "\(title), sent silently" : title,
                        address: "?view=\(view.rawValue)\(isAdded ? "&silent=true" : "")\(address)",
                        matches: matches(page.elements.count, isCut: page.next != nil)))
                break
            }
        }
        return found
    }

    private static func matches(_ count: Int, isCut: Bool) -> String {
        let number = "\(count)\(isCut ? "+" : "")"
        return number + (number == "1" ? " match" : " matches")
    }

    // MARK: Planned

    /// What is planned for somebody; nil where finding it takes longer than a page has.
    static func planned(_ visit: Visit) async throws -> Page<ScheduledItem, String>? {
        let (store, user) = (visit.store, visit.segment("u"))
        return try await withThrowingTaskGroup(of: Page<ScheduledItem, String>?.self) { group in
            group.addTask { try await store.scheduled(of: user, limit: mostCounted) }
            group.addTask {
                try await Task.sleep(for: LogSearch.budget)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// How many planned items have the words, or the key or number; nil for none.
    private static func matches(
        _ text: String, among planned: [ScheduledItem], _ visit: Visit
    ) async throws -> String? {
        let words = LogSearch.words(text).map { EventFilter(text: $0) }
        var count = 0
        for item in planned {
            // A damaged one is counted with the person's other events.
            guard let event = try? await visit.store.log.event(item.seq) else { continue }
            let isNamed = event.key == text || "\(item.seq)" == text
            if isNamed || words.allSatisfy({ $0.matches(event) }) { count += 1 }
        }
        return count == 0 ? nil : matches(count, isCut: planned.count == mostCounted)
    }

    // MARK: Items by what is known of them

    /// The items with this key, and with this number.
    private static func named(_ text: String, _ visit: Visit, _ at: Moment?) async throws -> [Item] {
        var references: [ItemReference] = []
        if text.utf8.count <= Limits.identifierBytes { references.append(.key(text)) }
        if let seq = TypedTime.number(text)?.seq { references.append(.seq(seq)) }
        var items: [Item] = []
        for reference in references {
            // One that is not in this tray, or that cannot be shown any more.
            guard let item = try? await visit.store.item(reference, of: visit.segment("u"), asOf: at) else { continue }
            if !items.contains(where: { $0.seq == item.seq }) { items.append(item) }
        }
        return items
    }

    /// The newest of the person's own items that have the words, whatever became of them: what people look for has often expired.
    ///
    /// It looks as far back among the person's own items as a page has time for, and passes over damaged events.
    private static func worded(
        _ text: String, _ visit: Visit, _ asOf: Seq, _ at: Moment?
    ) async throws -> (items: [Item], unread: String?, next: Seq?) {
        let (store, user) = (visit.store, visit.segment("u"))
        let filter = EventFilter(user: user, kinds: [.notified], text: text)
        let start = ContinuousClock.now
        var (events, unread, next): ([Event], Int, Seq?) = ([], 0, asOf + 1)
        while let end = next, end > 1, events.count < mostNamed * 2 {
            let part = try await LogSearch(
                filter, limit: mostNamed * 2 - events.count, budget: LogSearch.budget / 2
            ).run(below: end, in: store)
            events += part.events
            next = part.next
            if part.damage != nil { unread += 1 }
            if part.damage == nil || ContinuousClock.now - start > LogSearch.budget { break }
        }
        var items: [Item] = []
        for event in events {
            // One that a compaction took cannot be shown, and a planned one is in no tray.
            if let item = try? await store.item(.seq(event.seq), of: user, asOf: at) { items.append(item) }
        }
        return (items, unread == 0 ? nil : Figures.count(unread, "event"), events.isEmpty && next ?? 0 > 1 ? next : nil)
    }
}
