import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// Users, and one user's tray at any moment.
enum UserPages {
    private static let pageUsers = 50
    private static let mostSorted = 3_000
    private static let pageItems = 25
    private static let mostTimes = 2_000

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users", .key(.users), query: ["prefix", "sort", "after"]) { visit in
                let top = UsersPage(prefix: visit.query["prefix"] ?? "", sort: order(visit)?.rawValue)
                return visit.page("Users", top) { try await users(visit) }
            },
            ConsolePage(
                .get, "/users/{u}", .key(.users), query: ItemList.fields + ["cursor", "part"]
            ) { visit in
                let top = UserPage(person: Person(visit, .tray))
                do {
                    let view = try await view(visit)
                    return visit.page(top.person.user, top) { try await tray(visit, view) }
                } catch {
                    // The present below, and what is wrong beside the field.
                    guard let typed = visit.refused(error, fields: ["asOf"] + ItemList.filters) else { throw error }
                    let plain = visit.without(["asOf", "cursor"] + ItemList.filters)
                    let view = try await view(plain)
                    return visit.page(top.person.user, top, typed.status) {
                        var rest = try await tray(plain, view)
                        (rest.list, rest.jump) = (ItemList.Form(visit, typed), typed["asOf"])
                        return rest
                    }
                }
            },
            ConsolePage(.get, "/users/{u}/moments", .key(.users)) { visit in try await moments(visit) },
        ]
    }

    // MARK: Users

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
    private static func heads(_ visit: Visit) -> [UsersPage.Head] {
        let (chosen, prefix) = (
            order(visit), visit.query["prefix"].map { "&prefix=" + PercentEncoding.encode($0) } ?? ""
        )
        let heads: [(Order?, String)] = [(nil, "User"), (.unread, "Unread"), (.unseen, "Unseen"), (.total, "Listed")]
        return heads.map { order, title in
            UsersPage.Head(
                title: title, direction: order == nil ? "ascending" : "descending",
                query: "sort=\(order?.rawValue ?? "name")\(prefix)", isNumber: order != nil, isChosen: order == chosen)
        }
    }

    private static func users(_ visit: Visit) async throws -> UsersPage.Rest {
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
        let held = await visit.heldNames()
        let letters = all > pageUsers && order == nil ? try await UserSearch.letters(in: visit.stores) : []
        return UsersPage.Rest(
            prefix: visit.query["prefix"].map(Name.init), all: Figures.count(all, "user"),
            mostSorted: Figures.count(mostSorted), isCut: isCut && order != nil,
            letters: part.isEmpty && letters.count > 1
                ? letters.map { UsersPage.Letter(letter: $0.letter, after: PercentEncoding.encode($0.after)) } : [],
            heads: heads(visit),
            users: trays.map { tray in
                UsersPage.User(
                    user: Name(tray.user), isHeld: held.contains(Array(tray.user.utf8)), tray: TrayCounts(tray),
                    newest: tray.newest, seenAt: tray.seenAt)
            },
            next: next.map { PercentEncoding.encode($0) })
    }

    // MARK: One user

    /// Which part of a tray a page shows, and as of when.
    private struct View {
        var head = Seq.zero
        var asOf = Seq.zero
        var isPast = false
        /// The moment that was asked for; nil for now.
        var moment: Moment?
        var list: ItemList
        var query: InboxQuery
    }

    private static func view(_ visit: Visit) async throws -> View {
        let list = try ItemList(visit, limit: pageItems)
        var view = View(list: list, query: list.query)
        let moment = try visit.moment("asOf")
        view.head = try await visit.store.log.head()
        view.asOf = try await visit.store.log.seq(of: moment ?? .seq(view.head))
        (view.moment, view.isPast) = (moment, moment != nil)
        view.query.cursor = try visit.query["cursor"].map { try Traylog.Cursor(parsing: $0) }
        return view
    }

    private static func tray(_ visit: Visit, _ view: View) async throws -> UserPage.Rest {
        let (user, store, asOf) = (visit.segment("u"), visit.store, view.asOf)
        // At the head the present state answers, which is kept.
        let at: Moment? = view.isPast ? .seq(asOf) : nil
        // A time that was asked for stays one: another event may be found at it in another store, or after a restore.
        let asked = view.moment.map(Self.address) ?? ""
        let typed = visit.query["asOf"].flatMap { visit.typed.timeAgo($0) == nil ? $0 : nil } ?? asked
        let filter = visit.kept(ItemList.filters)
        let moment = asked.isEmpty ? "" : "&asOf=\(PercentEncoding.encode(asked))"
        var rest = UserPage.Rest(
            person: Person(visit, .tray), head: view.head, asOf: asOf, isPast: view.isPast,
            isInbox: view.list.view == "inbox", isArchived: view.list.view == "archived",
            isSnoozed: view.list.view == "snoozed", isFiltered: view.list.isFiltered, view: view.list.view,
            filter: filter, moment: moment, query: filter + moment, asked: asked,
            list: ItemList.Form(visit, visit.typedFields), jump: TypedFields.Field(value: typed))
        if case .time(let time)? = view.moment { rest.askedAt = time }
        // What is damaged hides no more than itself: neither the chart the items, nor an item the counts.
        let troubles = [
            try await visit.trouble { rest.tray = TrayCounts(try await store.tray(of: user, asOf: at)) },
            try await visit.trouble { rest.listed = try await listed(visit, view, at) },
            try await visit.trouble { rest.neighbours = try await neighbours(visit, asOf, view.head) },
        ].compactMap(\.self)
        // The past does not say what was planned then.
        let planned = view.isPast ? nil : try? await PersonSearch.planned(visit)
        if !view.isPast, planned?.elements.isEmpty != true {
            rest.planned =
                planned.map { page in
                    page.next == nil ? "\(page.elements.count)" : "\(PersonSearch.mostCounted)+"
                } ?? "–"
        }
        if view.list.isFiltered {
            rest.search = try await PersonSearch.run(
                visit, view.query, asOf: asOf, at: at, address: rest.query, list: rest.listed?.items.map(\.seq),
                planned: planned?.elements ?? [])
        }
        var known: Set<Visit.Trouble> = []
        rest.troubles = troubles.filter { known.insert($0).inserted }.map(\.finding)
        if rest.listed?.items.isEmpty == true, !rest.neighbours.hasEvents {
            // The events of somebody who is known may have left the log.
            let names = try await store.users(prefix: user, limit: 1).elements
            rest.isNobody = names.first.map { $0.utf8.elementsEqual(user.utf8) } != true
        }
        return rest
    }

    /// A moment as an address names it: an event, or a time in UTC.
    private static func address(_ moment: Moment) -> String {
        switch moment {
        case .seq(let seq): seq.description
        case .time(let time): time.description
        }
    }

    /// What a tray lists: items of one view, threads and mutes.
    private static func listed(_ visit: Visit, _ view: View, _ at: Moment?) async throws -> UserPage.Listed {
        let (user, store) = (visit.segment("u"), visit.store)
        let page = try await store.inbox(of: user, view.query, asOf: at)
        let threads = try await store.threads(of: user, limit: 20, asOf: at)
        let mutes = try await store.mutes(of: user, asOf: at).mutes
        return UserPage.Listed(
            items: page.elements.map(UserPage.Row.init), next: page.next?.description,
            threads: threads.elements.map(UserPage.Thread.init), hasMoreThreads: threads.next != nil,
            mutes: mutes.map(UserPage.Mute.init),
            archived: try await count(of: .archived, of: user, at, store),
            snoozed: try await count(of: .snoozed, of: user, at, store))
    }

    /// How many items a view has, as far as its tab says it.
    private static func count(
        of view: InboxQuery.View, of user: String, _ moment: Moment?, _ store: Store
    ) async throws -> String {
        var query = InboxQuery(limit: PersonSearch.mostCounted)
        query.view = view
        let page = try await store.inbox(of: user, query, asOf: moment)
        return page.next == nil ? "\(page.elements.count)" : "\(PersonSearch.mostCounted)+"
    }

    /// The event of the moment, and the moments before and after it.
    private static func neighbours(_ visit: Visit, _ asOf: Seq, _ head: Seq) async throws -> UserPage.Neighbours {
        var (found, filter) = (UserPage.Neighbours(), EventFilter())
        filter.user = visit.segment("u")
        // That somebody looked, perhaps just now, is no cause of what the tray shows.
        if visit.query["asOf"] == nil { filter.kinds = Set(EventKind.allCases).subtracting([.audited]) }
        if asOf > .zero {
            let before = try await visit.store.log.events(matching: filter, newestFirst: true, from: asOf, limit: 2)
            if let event = before.elements.first {
                if visit.may(.audit) { found.event = EventRow(event: event).shown }
                found.recordedAt = event.recordedAt
                if case .erased = event.body {
                    found.erased = UserPage.Erased(at: event.recordedAt, by: event.actor)
                }
                let earlier = event.seq == asOf ? before.elements.dropFirst().first?.seq : event.seq
                // A page ends early at a damaged event, which no fold passes.
                found.earlier = earlier ?? before.next.map { $0 - 1 } ?? 0
            }
        }
        if asOf < head {
            let after = try await visit.store.log.events(matching: filter, from: asOf + 1, limit: 1)
            found.later = after.elements.first?.seq
        }
        found.hasEvents = found.earlier != nil || found.later != nil
        return found
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

/// Users in the order of their names, or those with the largest counts.
struct UsersPage: PageContent {
    static let template = PageTemplate.users

    struct Head {
        let title, direction, query: String
        let isNumber, isChosen: Bool
    }

    struct Letter {
        let letter, after: String
    }

    struct User {
        let user: Name
        let isHeld: Bool
        let tray: TrayCounts
        let newest: Seq?
        let seenAt: Timestamp?
    }

    struct Rest {
        /// What the names contain; nil for all users.
        let prefix: Name?
        let all, mostSorted: String
        let isCut: Bool
        let letters: [Letter]
        let heads: [Head]
        let users: [User]
        /// The name after which the next page begins.
        let next: String?
    }

    let prefix: String
    let sort: String?
}

/// One user's tray at a moment.
struct UserPage: PageContent {
    static let template = PageTemplate.user

    struct Rest {
        let person: Person
        let head, asOf: Seq
        let isPast, isInbox, isArchived, isSnoozed, isFiltered: Bool
        let view: String
        /// What links of this page keep of its address: the filter, the moment, and both.
        let filter, moment, query: String
        /// The moment that was asked for, as an address names it; empty for now.
        let asked: String
        /// Its time, where a time was asked for.
        var askedAt: Timestamp?
        var list: ItemList.Form
        /// The field that says another moment.
        var jump: TypedFields.Field
        /// Nil where they cannot be computed.
        var tray: TrayCounts?
        /// What is damaged.
        var troubles: [Finding] = []
        /// Nil where it is damaged.
        var listed: Listed?
        /// How many items are planned, `–` where finding them takes long; nil for none.
        var planned: String?
        var search = PersonSearch()
        var neighbours = Neighbours()
        /// Whether nothing is known of this user.
        var isNobody = false
    }

    /// What a tray lists.
    struct Listed {
        let items: [Row]
        /// The cursor of the next page.
        let next: String?
        let threads: [Thread]
        let hasMoreThreads: Bool
        let mutes: [Mute]
        let archived, snoozed: String
    }

    /// An item in the list.
    struct Row {
        let seq: Seq
        let title, body: String?
        let thread, category, sender, topic: Name?
        let isUnread, isSeen, isMuted, isSilent, isAwaiting: Bool
        /// Whether `when` is what its sender claims, and the log recorded another time.
        let isClaimed: Bool
        /// How urgent it is, where it is urgent.
        let level: String?
        let when: Timestamp
        let snoozedUntil: Timestamp?
        let answer: String?

        init(_ item: Item) {
            let content = item.content
            (seq, title, body) = (item.seq, content.title, content.body)
            (thread, category) = (content.thread.map(Name.init), content.category.map(Name.init))
            (sender, topic) = (item.actor.map(Name.init), item.topic.map(Name.init))
            (isUnread, isSeen, isMuted) = (!item.isRead, item.isSeen, item.isMuted)
            isSilent = content.isSilent
            isAwaiting = !content.actions.isEmpty && item.outcome == nil
            isClaimed = Moments.isClaimed(item.occurredAt, recordedAt: item.recordedAt)
            level =
                switch content.level {
                case .timeSensitive: "urgent"
                case .critical: content.level.rawValue
                default: nil
                }
            (when, snoozedUntil) = (item.occurredAt ?? item.recordedAt, item.snoozedUntil)
            answer = item.outcome?.action
        }
    }

    struct Thread {
        /// Nil for the items without a thread.
        let thread: Name?
        let count, newest: String
        /// Nil for none.
        let unread: String?
        let summary: String?

        init(_ group: ThreadGroup) {
            thread = group.thread.map(Name.init)
            (count, newest) = (Figures.count(group.count, "item"), group.newest.content.title ?? "")
            (unread, summary) = (group.unread > 0 ? Figures.count(group.unread) : nil, group.summary)
        }
    }

    struct Mute {
        /// What is muted; nil for everything.
        let name: Name?
        let kind: String
        let since: Timestamp
        let until: Timestamp?

        init(_ mute: Traylog.Mute) {
            (name, kind) =
                switch mute.scope {
                case .all: (nil, "")
                case .category(let name): (Name(name), "category")
                case .thread(let name): (Name(name), "thread")
                case .topic(let name): (Name(name), "topic")
                }
            (since, until) = (mute.since, mute.until)
        }
    }

    struct Erased {
        let at: Timestamp
        let by: String?
    }

    /// The event of the moment, and the moments before and after it.
    struct Neighbours {
        /// Nil for a reader who may not see it.
        var event: EventRow.Shown?
        var recordedAt: Timestamp?
        var erased: Erased?
        var earlier, later: Seq?
        var hasEvents = false
    }

    let person: Person
}

/// Whose page it is, at the top of all that are about one user.
struct Person {
    enum Tab {
        case tray, timeline, difference, looked
    }

    let user, path: String
    let isTray, isTimeline, isDifference, isLooked: Bool
    let hold: Hold?

    init(_ visit: Visit, _ tab: Tab) {
        user = visit.segment("u")
        path = PercentEncoding.encode(user)
        (isTray, isTimeline) = (tab == .tray, tab == .timeline)
        (isDifference, isLooked) = (tab == .difference, tab == .looked)
        hold = visit.hold.map(Hold.init)
    }
}

/// How many items a tray has.
struct TrayCounts {
    struct Category {
        let category: Name
        let unseen, unread: String
    }

    let total, unread, unseen: String
    let hasUnread, hasUnseen: Bool
    /// Nil for none.
    let awaiting: String?
    let categories: [Category]

    init(_ tray: Tray) {
        (total, unread, unseen) = (Figures.count(tray.total), Figures.count(tray.unread), Figures.count(tray.unseen))
        (hasUnread, hasUnseen) = (tray.unread > 0, tray.unseen > 0)
        awaiting = tray.awaiting > 0 ? Figures.count(tray.awaiting) : nil
        categories = tray.categories.map {
            Category(category: Name($0.category), unseen: Figures.count($0.unseen), unread: Figures.count($0.unread))
        }
    }
}
