import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog

/// Users, and one user's tray at any moment.
enum UserPages {
    private static let pageUsers = 50
    private static let mostSorted = 3_000
    private static let pageItems = 25
    private static let mostTimes = 2_000
    /// The tabs of other views than the inbox count so far.
    private static let mostCounted = 20

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users", .key(.users), query: ["prefix", "sort", "after"]) { visit in
                let search = search(visit)
                return visit.page(.users, "Users", search) { try await users(visit) }
            },
            ConsolePage(
                .get, "/users/{u}", .key(.users), query: ItemList.fields + ["cursor", "part"]
            ) { visit in
                let title = visit.segment("u")
                do {
                    let view = try await view(visit)
                    return visit.page(.user, title, top(visit, "tray")) { try await tray(visit, view) }
                } catch {
                    // The present below, and what is wrong beside the field.
                    guard let errors = visit.errors(error, fields: ["asOf"] + ItemList.filters) else { throw error }
                    let plain = visit.without(["asOf", "cursor"] + ItemList.filters)
                    let view = try await view(plain)
                    return visit.page(.user, title, top(visit, "tray"), errors.status) {
                        try await tray(plain, view).merging(ItemList.form(visit)) { $1 }.merging(errors.context) { $1 }
                    }
                }
            },
            ConsolePage(.get, "/users/{u}/moments", .key(.users)) { visit in try await moments(visit) },
        ]
    }

    // MARK: Users

    private static func search(_ visit: Visit) -> [String: Any] {
        let prefix = visit.query["prefix"] ?? ""
        return [
            "section": "users", "prefix": prefix, "hasPrefix": !prefix.isEmpty,
            "sort": order(visit).map { [$0.rawValue] } ?? [],
        ]
    }

    /// The count that orders the trays, largest first; users are ordered by name where there is none.
    private enum Order: String, CaseIterable {
        case unread, unseen, total

        func precedes(_ left: Tray, _ right: Tray) -> Bool {
            let (old, new): ((Int, Int, Int), (Int, Int, Int)) =
                switch self {
                case .unread: ((left.unread, left.unseen, left.total), (right.unread, right.unseen, right.total))
                case .unseen: ((left.unseen, left.unread, left.total), (right.unseen, right.unread, right.total))
                case .total: ((left.total, left.unread, left.unseen), (right.total, right.unread, right.unseen))
                }
            return old == new ? left.user.utf8.lexicographicallyPrecedes(right.user.utf8) : old > new
        }
    }

    private static func order(_ visit: Visit) -> Order? { visit.query["sort"].flatMap(Order.init(rawValue:)) }

    /// The heads of the columns that can be sorted, each with the address that does it.
    private static func heads(_ visit: Visit) -> [[String: Any]] {
        let (chosen, prefix) = (
            order(visit), visit.query["prefix"].map { "&prefix=" + PercentEncoding.encode($0) } ?? ""
        )
        let heads: [(Order?, String)] = [(nil, "User"), (.unread, "Unread"), (.unseen, "Unseen"), (.total, "Listed")]
        return heads.map { order, title in
            [
                "title": title, "isNumber": order != nil, "isChosen": order == chosen,
                "direction": order == nil ? "ascending" : "descending",
                "query": "sort=\(order?.rawValue ?? "name")\(prefix)",
            ]
        }
    }

    private static func users(_ visit: Visit) async throws -> [String: Any] {
        let part = visit.query["prefix"] ?? ""
        let order = order(visit)
        let most = order == nil ? pageUsers : mostSorted
        let found = try await UserSearch(part: part, after: visit.query["after"], limit: most).run(in: visit.stores)
        let isCut = found.next != nil
        var trays: [Tray] = []
        trays.reserveCapacity(found.users.count)
        for (name, store) in found.users { trays.append(try await store.tray(of: name)) }
        if let order { trays = Array(trays.sorted(by: order.precedes).prefix(pageUsers)) }
        let next = order == nil ? found.next : nil
        var all: UInt64 = 0
        for store in visit.stores { all += try await store.upkeep.statistics(checkingStates: false).users }
        let held = await held(visit)
        let letters = all > pageUsers && order == nil ? try await UserSearch.letters(in: visit.stores) : []
        return search(visit).merging([
            "all": Figures.count(all, "user"), "isCut": isCut && order != nil,
            "heads": heads(visit), "hasLetters": part.isEmpty && letters.count > 1,
            "letters": letters.map { ["letter": $0.letter, "after": PercentEncoding.encode($0.after)] },
            "mostSorted": Figures.count(mostSorted),
            "users": trays.map { tray in
                let more: [String: Any] = [
                    "path": PercentEncoding.encode(tray.user), "isHeld": held.contains(Array(tray.user.utf8)),
                ]
                return context(tray).merging(more) { old, _ in old }
            },
            "isEmpty": trays.isEmpty, "shown": "\(trays.count)",
            "next": next.map { [["after": PercentEncoding.encode($0), "prefix": PercentEncoding.encode(part)]] }
                ?? [],
        ]) { $1 }
    }

    /// The names of those on legal hold, as bytes.
    private static func held(_ visit: Visit) async -> Set<[UInt8]> {
        var names: Set<[UInt8]> = []
        for service in visit.console.partitions?.services ?? [visit.service] {
            for event in await service.holds.latest(service.store) ?? [] {
                names.insert(Array((event.user ?? "").utf8))
            }
        }
        return names
    }

    static func context(_ tray: Tray) -> [String: Any] {
        [
            "user": tray.user, "unread": Figures.count(tray.unread), "unseen": Figures.count(tray.unseen),
            "total": Figures.count(tray.total), "hasUnread": tray.unread > 0, "hasUnseen": tray.unseen > 0,
            "awaiting": Figures.count(tray.awaiting), "hasAwaiting": tray.awaiting > 0,
            "isSeen": tray.isSeen, "asOf": tray.asOf.description, "seenUpTo": tray.seenUpTo.description,
            "seenAt": tray.seenAt.map { [Moments.context($0)] } ?? [],
            "newest": tray.newest?.description ?? "", "hasNewest": tray.newest != nil,
            "categories": tray.categories.map {
                [
                    "category": $0.category, "categoryPath": PercentEncoding.encode($0.category),
                    "unseen": Figures.count($0.unseen), "unread": Figures.count($0.unread),
                ]
            },
        ]
    }

    // MARK: One user

    /// What every page of a user has at its top.
    static func top(_ visit: Visit, _ tab: String) -> [String: Any] {
        let user = visit.segment("u")
        return [
            "section": "users", "user": user, "path": PercentEncoding.encode(user), "in-" + tab: true,
            "mayAuditUser": visit.may(.audit), "mayReadUser": visit.may(.users),
        ]
    }

    /// Which part of a tray a page shows, and as of when.
    private struct View {
        var head = Seq.zero
        var asOf = Seq.zero
        var isPast = false
        var list: ItemList
        var query: InboxQuery
    }

    private static func view(_ visit: Visit) async throws -> View {
        let list = try ItemList(visit, limit: pageItems)
        var view = View(list: list, query: list.query)
        let moment = try visit.moment("asOf")
        view.head = try await visit.store.log.head()
        view.asOf = try await visit.store.log.seq(of: moment ?? .seq(view.head))
        view.isPast = moment != nil
        if let text = visit.query["cursor"] {
            guard let cursor = Traylog.Cursor(text) else {
                throw Problem.invalid("cursor", "was not given out by a page")
            }
            view.query.cursor = cursor
        }
        return view
    }

    private static func tray(_ visit: Visit, _ view: View) async throws -> [String: Any] {
        let (user, store, asOf) = (visit.segment("u"), visit.store, view.asOf)
        // At the head the present state answers, which is kept.
        let at: Moment? = view.isPast ? .seq(asOf) : nil
        let tray = try await store.tray(of: user, asOf: at)
        var context = top(visit, "tray")
        context["tray"] = Self.context(tray)
        context["isPast"] = view.isPast
        context["asOf"] = asOf.description
        context["head"] = view.head.description
        context["in-" + view.list.view] = true
        context["view"] = view.list.view
        context.merge(ItemList.form(visit)) { $1 }
        context["isFiltered"] = view.list.isFiltered
        context["in-count"] = Figures.count(tray.total)
        let moment = view.isPast ? "&asOf=\(asOf)" : ""
        context["moment"] = moment
        context["filter"] = visit.kept(ItemList.filters)
        context["query"] = visit.kept(ItemList.filters) + moment
        // What is damaged hides no more than itself: neither the chart the items, nor an item the counts.
        var (lists, moments): ([String: Any], [String: Any]) = ([:], [:])
        let troubles = [
            try await visit.trouble { lists = try await self.lists(visit, view, at) },
            try await visit.trouble { moments = try await neighbours(visit, asOf, view.head) },
        ]
        context.merge(lists) { $1 }
        context.merge(moments) { $1 }
        context["troubles"] = troubles.compactMap(\.self)
        let hasEvents = context["hasEarlier"] as? Bool == true || context["hasLater"] as? Bool == true
        context["hasEvents"] = hasEvents
        if context["isEmpty"] as? Bool == true, !hasEvents {
            // The events of somebody who is known may have left the log.
            let names = try await store.users(prefix: user, limit: 1).elements
            context["isNobody"] = names.first.map { $0.utf8.elementsEqual(user.utf8) } != true
        }
        return context
    }

    /// What a tray lists: items of one view, threads and mutes.
    private static func lists(_ visit: Visit, _ view: View, _ at: Moment?) async throws -> [String: Any] {
        let (user, store) = (visit.segment("u"), visit.store)
        let page = try await store.inbox(of: user, view.query, asOf: at)
        let threads = try await store.threads(of: user, limit: 20, asOf: at)
        let mutes = try await store.mutes(of: user, asOf: at).mutes
        let gone = try await gone(visit, view)
        var context: [String: Any] = [
            "isListed": true, "items": page.elements.map { Self.context($0) }, "isEmpty": page.elements.isEmpty,
            "next": page.next.map { [["cursor": $0.description]] } ?? [],
            "threads": threads.elements.map(thread), "moreThreads": threads.next != nil,
            "mutes": mutes.map(mute), "hasMutes": !mutes.isEmpty,
            "gone": gone.map { ["seq": $0.seq.description, "title": $0.content.title ?? "Item \($0.seq)"] },
            "hasGone": !gone.isEmpty,
        ]
        if view.list.isFiltered, page.elements.isEmpty, view.query.cursor == nil {
            let elsewhere = try await elsewhere(visit, view, at)
            (context["elsewhere"], context["hasElsewhere"]) = (elsewhere, !elsewhere.isEmpty)
        }
        for view in [InboxQuery.View.archived, .snoozed] {
            context["\(view.rawValue)-count"] = try await count(of: view, of: user, at, store)
        }
        return context
    }

    /// How many items match in the other views of the tray, where none does in this one.
    private static func elsewhere(_ visit: Visit, _ view: View, _ at: Moment?) async throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        let titles = [(InboxQuery.View.inbox, "Inbox"), (.archived, "Archived"), (.snoozed, "Snoozed")]
        for (other, title) in titles where other.rawValue != view.list.view {
            var query = view.query
            (query.view, query.limit) = (other, mostCounted)
            let page = try await visit.store.inbox(of: visit.segment("u"), query, asOf: at)
            guard !page.elements.isEmpty else { continue }
            let count = "\(page.elements.count)\(page.next == nil ? "" : "+")"
            found.append([
                "otherView": other.rawValue, "otherTitle": title,
                "matches": count + (count == "1" ? " match" : " matches"),
            ])
        }
        return found
    }

    /// The newest items that are no longer in the tray and have the words that are searched: what people look for has often expired.
    ///
    /// It looks as far back among the person's own items as a page has time for.
    private static func gone(_ visit: Visit, _ view: View) async throws -> [Item] {
        guard let text = view.query.filter.text, view.query.cursor == nil else { return [] }
        var filter = EventFilter()
        (filter.user, filter.kinds, filter.text) = (visit.segment("u"), [.notified], text)
        let found = try await LogSearch(filter, limit: mostGone * 2, budget: LogSearch.budget / 2).run(
            below: view.asOf + 1, in: visit.store)
        var items: [Item] = []
        for event in found.events where items.count < mostGone {
            // One that a compaction took cannot be shown.
            let item = try? await visit.store.item(.seq(event.seq), of: visit.segment("u"), asOf: .seq(view.asOf))
            if let item, item.isGone || item.isDeleted { items.append(item) }
        }
        return items
    }

    private static let mostGone = 10

    /// How many items a view has, as far as its tab says it.
    private static func count(
        of view: InboxQuery.View, of user: String, _ moment: Moment?, _ store: Store
    ) async throws -> String {
        var query = InboxQuery(limit: mostCounted)
        query.view = view
        let page = try await store.inbox(of: user, query, asOf: moment)
        return page.next == nil ? "\(page.elements.count)" : "\(mostCounted)+"
    }

    /// The event of the moment, and the moments before and after it.
    private static func neighbours(_ visit: Visit, _ asOf: Seq, _ head: Seq) async throws -> [String: Any] {
        var (context, filter): ([String: Any], EventFilter) = ([:], EventFilter())
        filter.user = visit.segment("u")
        // That somebody looked, perhaps just now, is no cause of what the tray shows.
        if visit.query["asOf"] == nil { filter.kinds = Set(EventKind.allCases).subtracting([.audited]) }
        if asOf > .zero {
            let before = try await visit.store.log.events(matching: filter, newestFirst: true, from: asOf, limit: 2)
            if let event = before.elements.first, visit.may(.audit) {
                context["event"] = [EventRow(event: event).context]
            }
            if let event = before.elements.first { context["recordedAt"] = [Moments.context(event.recordedAt)] }
            if let event = before.elements.first, case .erased = event.body {
                context["erased"] = [
                    [
                        "at": [Moments.context(event.recordedAt)], "by": event.actor ?? "",
                        "hasActor": event.actor != nil,
                    ]
                ]
            }
            let earlier = before.elements.first.map { $0.seq == asOf ? before.elements.dropFirst().first : $0 } ?? nil
            context["earlier"] = earlier?.seq.description ?? (before.elements.isEmpty ? "" : "0")
            context["hasEarlier"] = !before.elements.isEmpty
        }
        if asOf < head {
            let after = try await visit.store.log.events(matching: filter, from: asOf + 1, limit: 1)
            context["later"] = after.elements.first?.seq.description ?? ""
            context["hasLater"] = !after.elements.isEmpty
        }
        return context
    }

    static func context(_ item: Item) -> [String: Any] {
        let content = item.content
        func path(_ name: String?) -> String { name.map(PercentEncoding.encode) ?? "" }
        return [
            "seq": item.seq.description, "position": item.position.description,
            "title": content.title ?? "", "hasTitle": content.title != nil, "body": content.body ?? "",
            "hasBody": content.body != nil, "hasThread": content.thread != nil,
            "hasCategory": content.category != nil, "isTopic": item.topic != nil,
            "thread": content.thread ?? "", "threadPath": path(content.thread),
            "category": content.category ?? "", "categoryPath": path(content.category),
            "sender": item.actor ?? "", "senderPath": path(item.actor), "hasSender": item.actor != nil,
            "isUnread": !item.isRead, "isSeen": item.isSeen, "isMuted": item.isMuted, "topic": item.topic ?? "",
            "topicPath": path(item.topic),
            "isUrgent": content.level == .timeSensitive || content.level == .critical,
            "level": content.level == .timeSensitive ? "urgent" : content.level.rawValue,
            "when": Moments.context(item.occurredAt ?? item.recordedAt),
            "snoozedUntil": item.snoozedUntil.map { [Moments.context($0)] } ?? [],
            "isSilent": content.isSilent,
            "isAwaiting": !content.actions.isEmpty && item.outcome == nil,
            "answer": item.outcome.map { [["action": $0.action]] } ?? [],
        ]
    }

    private static func mute(_ mute: Mute) -> [String: Any] {
        let (name, field) =
            switch mute.scope {
            case .all: ("", "")
            case .category(let name): (name, "category")
            case .thread(let name): (name, "thread")
            case .topic(let name): (name, "topic")
            }
        return [
            "isAll": mute.scope == .all, "kind": field, "name": name, "path": PercentEncoding.encode(name),
            "since": [Moments.context(mute.since)], "until": mute.until.map { [Moments.context($0)] } ?? [],
        ]
    }

    private static func thread(_ group: ThreadGroup) -> [String: Any] {
        [
            "thread": group.thread ?? "", "isNamed": group.thread != nil,
            "threadPath": group.thread.map(PercentEncoding.encode) ?? "",
            "count": Figures.count(group.count, "item"),
            "unread": Figures.count(group.unread), "hasUnread": group.unread > 0,
            "newest": group.newest.content.title ?? "", "summary": group.summary ?? "",
            "hasSummary": group.summary != nil,
        ]
    }

    /// Every event that touched the tray: first a seq and the unread count before them; then how many times follow, and for each the
    /// steps from the position and from the time before it, in milliseconds; then how many looks at the tray follow, and for each
    /// the step from the position before; then for each event the step from the seq before, and that from the count before (zigzag).
    ///
    /// All are varints, about three bytes an event.
    private static func moments(_ visit: Visit) async throws -> Response {
        let report = try await visit.store.proofs.auditSteps(of: visit.segment("u"))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(report.steps.count * 4)
        func append(_ number: UInt64) {
            var rest = number
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        var (seq, unread) = (report.from - 1, report.before.unread)
        append(UInt64(seq))
        append(UInt64(unread))
        let timed = timedPositions(report.steps.count)
        let events = try await visit.store.proofs.events(of: timed.map { report.steps[$0 - 1] })
        append(UInt64(timed.count))
        var (position, time) = (0, Int64(0))
        for (next, event) in zip(timed, events) {
            append(UInt64(next - position))
            append(UInt64(max(0, event.recordedAt.milliseconds - time)))
            (position, time) = (next, max(time, event.recordedAt.milliseconds))
        }
        // Who looks makes items seen, and reads none.
        let looks = report.steps.indices.filter { index in
            let (before, after) = (report.steps[index].before, report.steps[index].after)
            return after.unseen < before.unseen && after.unread == before.unread && after.total == before.total
        }
        append(UInt64(looks.count))
        position = 0
        for index in looks {
            append(UInt64(index + 1 - position))
            position = index + 1
        }
        for step in report.steps {
            append(UInt64(step.seq.events(after: seq)))
            let change = step.after.unread - unread
            append(UInt64(bitPattern: Int64((change << 1) ^ (change >> (Int.bitWidth - 1)))))
            (seq, unread) = (step.seq, step.after.unread)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The positions whose times a page gets, 1 for the first event: all, or so many that a line shows no gap between them.
    private static func timedPositions(_ count: Int) -> [Int] {
        guard count > mostTimes else { return Array(1..<(count + 1)) }
        return (0..<mostTimes).map { 1 + $0 * (count - 1) / (mostTimes - 1) }
    }
}
