import HTTPTypes
import Hummingbird
import Traylog

/// Users, and one user's tray at any moment.
enum UserPages {
    private static let pageUsers = 50
    private static let mostSorted = 5_000
    private static let pageItems = 25

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users", .key(.users), query: ["prefix", "sort", "after"]) { visit in
                let search = search(visit)
                return visit.page("users", "Users", search) { try await users(visit) }
            },
            ConsolePage(
                .get, "/users/{u}", .key(.users), query: ["asOf", "view", "cursor", "part"]
            ) { visit in
                let title = visit.segment("u")
                do {
                    let view = try await view(visit)
                    return visit.page("user", title, top(visit, "tray")) { try await tray(visit, view) }
                } catch {
                    // The present below, and what is wrong beside the field.
                    guard let errors = visit.errors(error, fields: ["asOf"]) else { throw error }
                    let view = try await view(visit.without(["asOf", "cursor"]))
                    return visit.page("user", title, top(visit, "tray"), errors.status) {
                        try await tray(visit, view).merging(errors.context) { $1 }
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
            "byUnread": visit.query["sort"] == "unread",
        ]
    }

    private static func users(_ visit: Visit) async throws -> [String: Any] {
        let part = visit.query["prefix"] ?? ""
        let isSorted = visit.query["sort"] == "unread"
        let most = isSorted ? mostSorted : pageUsers
        let found = try await UserSearch(part: part, after: visit.query["after"], limit: most).run(in: visit.stores)
        let isCut = found.next != nil
        var trays: [Tray] = []
        trays.reserveCapacity(found.users.count)
        for (name, store) in found.users { trays.append(try await store.tray(of: name)) }
        if isSorted {
            trays.sort { ($0.unread, $0.unseen, $1.user) > ($1.unread, $1.unseen, $0.user) }
            trays = Array(trays.prefix(pageUsers))
        }
        let next = isSorted ? nil : found.next
        return search(visit).merging([
            "isCut": isCut && isSorted, "mostSorted": Figures.count(mostSorted),
            "users": trays.map { tray in
                context(tray).merging(["path": PercentEncoding.encode(tray.user)]) { old, _ in old }
            },
            "isEmpty": trays.isEmpty, "shown": "\(trays.count)",
            "next": next.map { [["after": PercentEncoding.encode($0), "prefix": PercentEncoding.encode(part)]] }
                ?? [],
        ]) { $1 }
    }

    static func context(_ tray: Tray) -> [String: Any] {
        [
            "user": tray.user, "unread": Figures.count(tray.unread), "unseen": Figures.count(tray.unseen),
            "total": Figures.count(tray.total), "hasUnread": tray.unread > 0, "hasUnseen": tray.unseen > 0,
            "isSeen": tray.isSeen, "asOf": tray.asOf.description, "seenUpTo": tray.seenUpTo.description,
            "seenAt": tray.seenAt.map { [Moments.context($0)] } ?? [],
            "newest": tray.newest?.description ?? "", "hasNewest": tray.newest != nil,
            "categories": tray.categories.map {
                ["category": $0.category, "unseen": Figures.count($0.unseen), "unread": Figures.count($0.unread)]
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
        var (head, asOf) = (Seq.zero, Seq.zero)
        var isPast = false
        var query = InboxQuery(limit: pageItems)
        var name = "inbox"
    }

    private static func view(_ visit: Visit) async throws -> View {
        var view = View()
        let moment = try visit.moment("asOf")
        view.head = try await visit.store.head()
        view.asOf = try await visit.store.seq(of: moment ?? .seq(view.head))
        view.isPast = moment != nil
        view.name = visit.query["view"] ?? "inbox"
        view.query.view = view.name == "archived" ? .archived : view.name == "snoozed" ? .snoozed : .inbox
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
        let page = try await store.inbox(of: user, view.query, asOf: at)
        let threads = try await store.threads(of: user, limit: 20, asOf: at)
        var context = top(visit, "tray")
        context["tray"] = Self.context(tray)
        context["isPast"] = view.isPast
        context["asOf"] = asOf.description
        context["head"] = view.head.description
        context["in-" + view.name] = true
        context["view"] = view.name
        context["items"] = page.elements.map(item)
        context["next"] = page.next.map { [["cursor": $0.description]] } ?? []
        context["threads"] = threads.elements.map(thread)
        context["moreThreads"] = threads.next != nil
        context["isEmpty"] = page.elements.isEmpty
        context["query"] = view.isPast ? "&asOf=\(asOf)" : ""
        try await neighbours(visit, asOf, view.head, &context)
        if page.elements.isEmpty, context["hasEarlier"] as? Bool != true, context["hasLater"] as? Bool != true {
            // The events of somebody who is known may have left the log.
            let names = try await store.users(prefix: user, limit: 1).elements
            context["isNobody"] = names.first.map { $0.utf8.elementsEqual(user.utf8) } != true
        }
        return context
    }

    /// The event of the moment, and the moments before and after it.
    private static func neighbours(
        _ visit: Visit, _ asOf: Seq, _ head: Seq, _ context: inout [String: Any]
    ) async throws {
        var filter = EventFilter()
        filter.user = visit.segment("u")
        if asOf > .zero {
            let before = try await visit.store.search(filter, newestFirst: true, from: asOf, limit: 2)
            if let event = before.elements.first, visit.may(.audit) {
                context["event"] = [EventRow(event: event).context]
            }
            if let event = before.elements.first { context["recordedAt"] = [Moments.context(event.recordedAt)] }
            let earlier = before.elements.first.map { $0.seq == asOf ? before.elements.dropFirst().first : $0 } ?? nil
            context["earlier"] = earlier?.seq.description ?? (before.elements.isEmpty ? "" : "0")
            context["hasEarlier"] = !before.elements.isEmpty
        }
        if asOf < head {
            let after = try await visit.store.search(filter, from: Seq(asOf.rawValue + 1), limit: 1)
            context["later"] = after.elements.first?.seq.description ?? ""
            context["hasLater"] = !after.elements.isEmpty
        }
    }

    private static func item(_ item: Item) -> [String: Any] {
        [
            "seq": item.seq.description, "position": item.position.description,
            "title": item.content.title ?? "", "hasTitle": item.content.title != nil, "body": item.content.body ?? "",
            "hasBody": item.content.body != nil, "hasThread": item.content.thread != nil,
            "hasCategory": item.content.category != nil, "isTopic": item.topic != nil,
            "thread": item.content.thread ?? "", "category": item.content.category ?? "",
            "isUnread": !item.isRead, "isSeen": item.isSeen, "isMuted": item.isMuted, "topic": item.topic ?? "",
            "isUrgent": item.content.level == .timeSensitive || item.content.level == .critical,
            "level": item.content.level.rawValue, "when": Moments.context(item.occurredAt ?? item.recordedAt),
            "snoozedUntil": item.snoozedUntil.map { [Moments.context($0)] } ?? [],
            "isSilent": item.content.isSilent,
        ]
    }

    private static func thread(_ group: ThreadGroup) -> [String: Any] {
        [
            "thread": group.thread ?? "", "isNamed": group.thread != nil,
            "count": group.count == 1 ? "1 item" : "\(Figures.count(group.count)) items",
            "unread": Figures.count(group.unread), "hasUnread": group.unread > 0,
            "newest": group.newest.content.title ?? "", "summary": group.summary ?? "",
            "hasSummary": group.summary != nil,
        ]
    }

    /// Every event that touched the tray: first a seq and the unread count before them, then for each event the step
    /// from the seq before, and that from the count before (zigzag).
    ///
    /// All are varints, about three bytes an event.
    private static func moments(_ visit: Visit) async throws -> Response {
        let report = try await visit.store.audit(of: visit.segment("u"))
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
        var (seq, unread) = (report.from.rawValue - 1, report.before.unread)
        append(seq)
        append(UInt64(unread))
        for step in report.steps {
            append(step.seq.rawValue - seq)
            let change = step.after.unread - unread
            append(UInt64(bitPattern: Int64((change << 1) ^ (change >> (Int.bitWidth - 1)))))
            (seq, unread) = (step.seq.rawValue, step.after.unread)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
