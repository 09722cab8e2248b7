import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(JSON) import Traylog

/// One item: its full text, its data, and what happened to it.
///
/// A list shows it beside itself; without scripts it is a page.
enum ItemPage {
    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/items/{item}", .key(.users), query: ItemList.fields) { visit in
                let seq = try seq(visit)
                let list = try ItemList(visit, limit: 1)
                let moment = try visit.moment("asOf")
                let told = try await told(.seq(seq), of: visit.segment("u"), moment, visit)
                var context = UserPages.top(visit, "tray").merging(self.context(told)) { $1 }
                context["story"] = told.story.map { clause($0, visit) }
                context["untold"] = told.trouble.map { [$0] } ?? []
                context["isTold"] = told.trouble == nil
                context["asOf"] = told.asOf.description
                context["isPast"] = moment != nil
                context["keptMoment"] = visit.kept(["asOf"])
                context["kept"] = String(visit.kept(ItemList.fields).dropFirst())
                // Without them where one of them is damaged.
                _ = try await visit.trouble { try await neighbours(of: told.item, list, moment, visit, &context) }
                return visit.page(.item, told.item.content.title ?? "Item \(seq)", context)
            },
            // Both have salts and payloads, for somebody who may read the log.
            ConsolePage(.get, "/users/{u}/items/{item}/decision", .key(.audit)) { visit in
                let seq = try seq(visit)
                var record = try await visit.store.decision(on: .seq(seq), by: visit.segment("u"))
                record.seen = try await visit.store.proofs.treeHead(
                    record.treeHead, seenIn: visit.service.witnesses?.published)
                return file("decision-\(seq).json", "application/json", record.json + "\n")
            },
            ConsolePage(.get, "/users/{u}/items/{item}/story", .key(.audit), query: ["asOf"]) { visit in
                let (seq, store, service) = (try seq(visit), visit.store, visit.service)
                await service.treeAtStart.wait()
                let life = try await store.life(of: .seq(seq), of: visit.segment("u"), asOf: try visit.moment("asOf"))
                let page = try await store.provedStory(of: life).page(signedBy: service.checkpointKey)
                return file("story-\(seq).html", "text/html; charset=utf-8", page)
            },
        ]
    }

    private static func seq(_ visit: Visit) throws -> Seq {
        guard let seq = Seq(visit.segment("item")), seq > .zero else {
            throw Problem.invalid("item", "must be the number of an item, from 1 on")
        }
        return seq
    }

    /// A file for the reader to keep.
    private static func file(_ name: String, _ type: String, _ text: String) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "no-store",
                .contentDisposition: "attachment; filename=\"\(name)\"",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    // MARK: The item

    /// An item and what happened to it.
    private struct Told {
        let user: String
        let item: Item
        var asOf: Seq
        var events: [Event] = []
        var story: [ItemStory.Clause] = []
        /// Why that cannot be told: a damaged event of its life does not hide what it says.
        var trouble: String?
    }

    private static func told(
        _ item: ItemReference, of user: String, _ moment: Moment?, _ visit: Visit
    ) async throws -> Told {
        let store = visit.store
        let head = try await store.log.head()
        var told = Told(
            user: user, item: try await store.item(item, of: user, asOf: moment),
            asOf: try await store.log.seq(of: moment ?? .seq(head)))
        told.trouble = try await visit.trouble {
            let life = try await store.life(of: item, of: user, asOf: moment)
            told.story = try await store.story(of: life).clauses
            (told.asOf, told.events) = (life.asOf, life.events)
        }
        return told
    }

    /// A sentence of the story; whoever may read the log gets a link to its event.
    private static func clause(_ clause: ItemStory.Clause, _ visit: Visit) -> [String: Any] {
        let event = visit.may(.audit) ? clause.event : nil
        return [
            "event": event?.description ?? "", "hasEvent": event != nil,
            "parts": clause.parts.map { part -> [String: Any] in
                switch part {
                case .words(let words): ["words": words, "time": [String]()]
                case .time(let time): ["words": "", "time": [Moments.context(time)]]
                }
            },
        ]
    }

    private static func context(_ life: Told) -> [String: Any] {
        let (item, content) = (life.item, life.item.content)
        var context = UserPages.context(item)
        context["facts"] = facts(item)
        context["data"] = content.data.map { [PrettyJSON.text($0)] } ?? []
        context["actions"] = content.actions.map { ["id": $0.id, "label": $0.label] }
        context["hasActions"] = !content.actions.isEmpty
        context["outcome"] =
            item.outcome.map { outcome -> [[String: Any]] in
                [
                    [
                        "action": content.actions.first { $0.id == outcome.action }?.label ?? outcome.action,
                        "note": outcome.note ?? "", "hasNote": outcome.note != nil, "by": outcome.actor,
                        "at": [Moments.context(outcome.at)], "event": outcome.seq.description,
                        "shown": outcome.asOf.description,
                    ]
                ]
            } ?? []
        context["occasions"] = occasions(life)
        context["steps"] = life.events.map { step($0, item.seq) }
        let states = [
            ("archived", item.isArchived), ("deleted", item.isDeleted), ("no longer in the tray", item.isGone),
            ("arrived muted", item.isMuted), ("silent", content.isSilent),
        ]
        context["states"] = states.filter(\.1).map { ["word": $0.0] }
        context["hasStates"] = states.contains(where: \.1)
        context["isOver"] = item.isGone
        return context
    }

    private static func facts(_ item: Item) -> [[String: Any]] {
        let content = item.content
        func fact(_ name: String, _ value: String?, filter: String? = nil) -> [String: Any]? {
            guard let value else { return nil }
            let query = filter.map { "?\($0)=\(PercentEncoding.encode(value))" }
            return ["name": name, "value": value, "filter": query ?? "", "isLink": query != nil, "time": [String]()]
        }
        func time(_ name: String, _ value: Timestamp?) -> [String: Any]? {
            value.map { ["name": name, "value": "", "filter": "", "isLink": false, "time": [Moments.context($0)]] }
        }
        return [
            time("occurred", item.occurredAt), time("recorded", item.recordedAt), time("arrived", item.arrivedAt),
            fact("from", item.actor, filter: "actor"), fact("thread", content.thread, filter: "thread"),
            fact("category", content.category, filter: "category"),
            fact("level", content.level == .active ? nil : content.level.rawValue, filter: "level"),
            fact("key", item.key), fact("collapse key", content.collapseKey), time("expires", content.expiresAt),
            time("reminds", content.remindAt), time("snoozed until", item.snoozedUntil),
        ].compactMap(\.self)
    }

    /// When it was seen and read last, from where, by whom: the answer to "did she see it?".
    private static func occasions(_ life: Told) -> [[String: Any]] {
        let voided = Set(
            life.events.compactMap { event -> Seq? in
                if case .undone(let seq) = event.body { seq } else { nil }
            })
        func last(_ isIt: (Event.Body) -> Bool) -> Event? {
            life.events.last { isIt($0.body) && !voided.contains($0.seq) }
        }
        func makesRead(_ body: Event.Body) -> Bool {
            switch body {
            case .marked(.read, _), .allMarked(.read, _, _), .acted: true
            default: false
            }
        }
        let seen = life.events.first { event in
            guard !voided.contains(event.seq) else { return false }
            return switch event.body {
            case .traySeen, .marked(.seen, _), .allMarked(.seen, _, _): true
            default: makesRead(event.body)
            }
        }
        let (read, isOver) = (last(makesRead), life.item.isGone)
        return [
            occasion(
                "Seen", isOver ? "Never seen" : "Not seen yet", item: life, holds: life.item.isSeen, seen),
            occasion(
                read?.isOfMany == true ? "Marked as read with others" : "Read", isOver ? "Never read" : "Not read yet",
                item: life, holds: life.item.isRead, read),
        ]
    }

    private static func occasion(
        _ word: String, _ otherwise: String, item life: Told, holds: Bool, _ event: Event?
    ) -> [String: Any] {
        let event = holds ? event : nil
        let actor = event?.actor.flatMap { $0.utf8.elementsEqual(life.user.utf8) ? nil : $0 }
        return [
            "holds": holds, "word": holds ? word : otherwise,
            "at": event.map { [Moments.context($0.recordedAt)] } ?? [],
            "on": event?.device ?? "", "hasDevice": event?.device != nil, "by": actor ?? "", "hasActor": actor != nil,
        ]
    }

    /// An event of the item's life, in words.
    private static func step(_ event: Event, _ item: Seq) -> [String: Any] {
        let summary = EventSummary(event, mostItems: 1, time: Moments.text)
        var (title, detail) = (summary.title, "")
        switch event.body {
        case .notified, .broadcast, .arrived: title = "Arrived"
        case .traySeen: title = "Seen"
        case .marked(let mark, let items):
            title = mark.rawValue.prefix(1).uppercased() + mark.rawValue.dropFirst()
            detail = items.count > 1 ? "with \(Figures.count(items.count - 1)) other items" : ""
        case .allMarked(let mark, _, _):
            title = mark.rawValue.prefix(1).uppercased() + mark.rawValue.dropFirst()
            detail = "with all others" + (summary.detail.isEmpty ? "" : ": " + summary.detail)
        case .snoozed(_, let until): detail = "until \(Moments.text(until))"
        case .acted(_, let action, let note, _): detail = action + (note.map { ": \($0)" } ?? "")
        case .woken, .retracted, .expired, .reminded: break
        case .edited: detail = summary.detail.replacing("item \(item): ", with: "")
        default: detail = summary.detail
        }
        var context = EventRow(event: event).context
        context["title"] = title
        context["detail"] = detail
        // One clock for all: what a caller claims stands beside it, and is called so.
        context["at"] = [Moments.context(event.recordedAt)]
        let claimed = event.occurredAt.flatMap {
            $0.milliseconds / 1_000 == event.recordedAt.milliseconds / 1_000 ? nil : $0
        }
        context["claimed"] = claimed.map { [Moments.context($0)] } ?? []
        return context
    }

    // MARK: Its neighbours

    /// The items above and below it in its list.
    private static func neighbours(
        of item: Item, _ list: ItemList, _ moment: Moment?, _ visit: Visit, _ context: inout [String: Any]
    ) async throws {
        let (store, user) = (visit.store, visit.segment("u"))
        /// The newest item at or below a position.
        func newest(through position: Seq) async throws -> Item? {
            var query = list.query
            // As a page gives it out for the item above.
            query.cursor = Traylog.Cursor("c1-" + String(UInt64(position + 1), radix: 36))
            return try await store.inbox(of: user, query, asOf: moment).elements.first
        }
        let older = try await newest(through: item.position - 1)
        context["older"] = older.map { [["seq": $0.seq.description]] } ?? []
        // Of a filtered list only the list itself knows quickly what stands above.
        guard !list.isFiltered else { return }
        let head = try await store.log.head()
        let end = try await store.log.seq(of: moment ?? .seq(head))
        // Nothing stands between the item and `low`.
        var (low, high, newer) = (item.position, item.position, Item?.none)
        while high < end, newer == nil {
            (low, high) = (high, min(end, high + max(1, high.events(after: item.position))))
            newer = try await newest(through: high).flatMap { $0.position > item.position ? $0 : nil }
        }
        while let found = newer, found.position > low + 1 {
            let middle = low + found.position.events(after: low) / 2
            if let half = try await newest(through: middle), half.position > item.position {
                newer = half
            } else {
                low = middle
            }
        }
        context["newer"] = newer.map { [["seq": $0.seq.description]] } ?? []
    }
}

extension Event {
    /// Whether it marked several items together.
    fileprivate var isOfMany: Bool {
        switch body {
        case .marked(_, let items): items.count > 1
        case .allMarked: true
        default: false
        }
    }
}
