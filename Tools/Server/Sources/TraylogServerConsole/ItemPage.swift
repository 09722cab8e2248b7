import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(JSON) import Traylog
import TraylogServer

/// One item: its full text, its data, and what happened to it.
///
/// A list shows it beside itself; without scripts it is a page.
struct ItemPage: PageContent {
    static let template = PageTemplate.item

    /// A sentence of the story.
    struct Clause {
        struct Part {
            let words: String
            let time: Timestamp?
        }

        /// Nil for a reader who may not see it.
        let event: Seq?
        let parts: [Part]
    }

    struct Occasion {
        let holds: Bool
        let word: String
        let at: Timestamp?
        let device, actor: String?
    }

    struct Outcome {
        let action, by: String
        let note: String?
        let at: Timestamp
        let shown: Seq
    }

    struct Step {
        let seq: Seq
        let icon, title, detail: String
        let device, actor: String?
        let at: Timestamp
        /// When the caller says that it happened, where that is another time.
        let claimed: Timestamp?
    }

    struct Fact {
        let name: String
        var value = ""
        /// The query for items with this value.
        var filter: String?
        var time: Timestamp?
    }

    let person: Person
    let seq, asOf: Seq
    let isPast, isAwaiting, isOver: Bool
    let title, body: String?
    let topic: Name?
    /// Why its story, or the rest of it, cannot be told; nil where it is.
    let untold: Finding?
    /// The event up to which the story goes, where the rest cannot be told.
    let toldThrough: Seq?
    /// Empty where nothing can be told.
    let story: [Clause]
    let occasions: [Occasion]
    let steps: [Step]
    let outcome: Outcome?
    let actions, states: [String]
    let facts: [Fact]
    let data: String?
    /// The fields of this address, for those of its neighbours, and the moment alone.
    let kept, keptMoment: String
    /// The items above and below it in its list.
    var newer, older: Seq?

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/users/{u}/items/{item}", .key(.users), query: ItemList.fields) { visit in
                let seq = try seq(visit)
                let list = try ItemList(visit, limit: 1)
                let moment = try visit.moment("asOf")
                let told = try await told(.seq(seq), of: visit.segment("u"), moment, visit)
                var page = ItemPage(told, visit)
                // Without them where one of them is damaged.
                _ = try await visit.trouble {
                    (page.newer, page.older) = try await neighbours(of: told.item, list, moment, visit)
                }
                return visit.page(told.item.content.title ?? "Item \(seq)", page)
            },
            // Both have salts and payloads, for somebody who may read the log.
            ConsolePage(.get, "/users/{u}/items/{item}/decision", .key(.audit)) { visit in
                let seq = try seq(visit)
                var record = try await visit.store.decision(on: .seq(seq), by: visit.segment("u"))
                let note = try await visit.service.checkpoint(through: Seq(record.treeHead.size))
                record.seen = try await visit.store.proofs.treeHead(record.treeHead, seenIn: note)
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

    private static func file(_ name: String, _ type: String, _ text: String) -> Response {
        let headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        let body = ResponseBody(byteBuffer: ByteBuffer(string: text))
        return Response(status: .ok, headers: headers, body: body).kept(as: name)
    }

    // MARK: The item

    /// An item and what happened to it.
    private struct Told {
        let user: String
        let item: Item
        var asOf: Seq
        var events: [Event] = []
        var story: [ItemStory.Clause] = []
        /// The event up to which the story goes.
        var toldThrough = Seq.zero
        /// Why the rest cannot be told: a damaged event hides neither what it says nor what happened before.
        var trouble: Visit.Trouble?
    }

    /// Damaged events before which a story is looked for.
    private static let mostDamaged = 5

    private static func told(
        _ item: ItemReference, of user: String, _ moment: Moment?, _ visit: Visit
    ) async throws -> Told {
        let store = visit.store
        let head = try await store.log.head()
        var told = Told(
            user: user, item: try await store.item(item, of: user, asOf: moment),
            asOf: try await store.log.seq(of: moment ?? .seq(head)))
        func tell(asOf moment: Moment?) async throws -> Visit.Trouble? {
            try await visit.trouble {
                let life = try await store.life(of: item, of: user, asOf: moment)
                told.story = try await store.story(of: life).clauses
                (told.toldThrough, told.events) = (life.asOf, life.events)
            }
        }
        told.trouble = try await tell(asOf: moment)
        guard told.trouble != nil else {
            told.asOf = told.toldThrough
            return told
        }
        // What happened before the damage can be told.
        var (damaged, end) = (told.trouble?.event, told.asOf)
        for _ in 0..<mostDamaged {
            guard let seq = damaged, seq > told.item.seq, seq <= end else { break }
            end = seq - 1
            guard let earlier = try await tell(asOf: .seq(end)) else { break }
            damaged = earlier.event
        }
        return told
    }

    private init(_ told: Told, _ visit: Visit) {
        let (item, content) = (told.item, told.item.content)
        (person, seq, asOf, isPast) = (Person(visit, .tray), item.seq, told.asOf, visit.query["asOf"] != nil)
        (title, body, topic) = (content.title, content.body, item.topic.map(Name.init))
        untold = told.trouble?.finding
        toldThrough = told.trouble == nil || told.story.isEmpty ? nil : told.toldThrough
        story = told.story.map { clause in
            Clause(
                event: visit.may(.audit) ? clause.event : nil,
                parts: clause.parts.map { part in
                    switch part {
                    case .words(let words): Clause.Part(words: words, time: nil)
                    case .time(let time): Clause.Part(words: "", time: time)
                    }
                })
        }
        occasions = Self.occasions(told)
        steps = told.events.map { Self.step($0, item.seq) }
        outcome = item.outcome.map { outcome in
            Outcome(
                action: content.actions.first { $0.id == outcome.action }?.label ?? outcome.action, by: outcome.actor,
                note: outcome.note, at: outcome.at, shown: outcome.asOf)
        }
        actions = content.actions.map(\.label)
        (isAwaiting, isOver) = (!content.actions.isEmpty && item.outcome == nil, item.isGone)
        states = [
            ("archived", item.isArchived), ("deleted", item.isDeleted), ("no longer in the tray", item.isGone),
            ("arrived muted", item.isMuted), ("silent", content.isSilent),
        ].filter(\.1).map(\.0)
        (facts, data) = (Self.facts(item), content.data.map(PrettyJSON.text))
        (kept, keptMoment) = (String(visit.kept(ItemList.fields).dropFirst()), visit.kept(["asOf"]))
    }

    private static func facts(_ item: Item) -> [Fact] {
        let content = item.content
        func fact(_ name: String, _ value: String?, filter: String? = nil) -> Fact? {
            value.map { value in
                Fact(name: name, value: value, filter: filter.map { "?\($0)=\(PercentEncoding.encode(value))" })
            }
        }
        func time(_ name: String, _ value: Timestamp?) -> Fact? { value.map { Fact(name: name, time: $0) } }
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
    private static func occasions(_ life: Told) -> [Occasion] {
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
    ) -> Occasion {
        let event = holds ? event : nil
        let actor = event?.actor.flatMap { $0.utf8.elementsEqual(life.user.utf8) ? nil : $0 }
        return Occasion(
            holds: holds, word: holds ? word : otherwise, at: event?.recordedAt, device: event?.device, actor: actor)
    }

    /// An event of the item's life, in words.
    private static func step(_ event: Event, _ item: Seq) -> Step {
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
        // One clock for all: what a caller claims stands beside it, and is called so.
        let claimed = event.occurredAt.flatMap {
            Moments.isClaimed($0, recordedAt: event.recordedAt) ? $0 : nil
        }
        return Step(
            seq: event.seq, icon: EventRow.icon(event.kind), title: title, detail: detail, device: event.device,
            actor: event.shownActor, at: event.recordedAt, claimed: claimed)
    }

    // MARK: Its neighbours

    /// The items above and below it in its list.
    private static func neighbours(
        of item: Item, _ list: ItemList, _ moment: Moment?, _ visit: Visit
    ) async throws -> (newer: Seq?, older: Seq?) {
        let (store, user) = (visit.store, visit.segment("u"))
        /// The newest item at or below a position.
        func newest(through position: Seq) async throws -> Item? {
            var query = list.query
            // As a page gives it out for the item above.
            query.cursor = Traylog.Cursor("c1-" + String(UInt64(position + 1), radix: 36))
            return try await store.inbox(of: user, query, asOf: moment).elements.first
        }
        let older = try await newest(through: item.position - 1)
        // Of a filtered list only the list itself knows quickly what stands above.
        guard !list.isFiltered else { return (nil, older?.seq) }
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
        return (newer?.seq, older?.seq)
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
