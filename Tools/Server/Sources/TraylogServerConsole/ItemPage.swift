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
        let icon, word: String
        let at: Timestamp?
        let device, actor: String?
    }

    struct Undo {
        let seq: Seq
        let by: String?
        let at: Timestamp
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
        let until: Timestamp?
        /// The item that took its place.
        let replacement: Seq?
        let device, actor: String?
        let at: Timestamp
        let undo: Undo?
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
    /// Whether not even its own event can be read: the page has what came after it.
    var isUnreadable = false
    /// Why what came after it cannot be told either, of one that cannot be read.
    var hidden: Finding?
    /// What was muted when it came, of one that cannot be read.
    var mutes: [UserPage.Mute] = []
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
                var told: Told?
                let trouble = try await visit.trouble {
                    told = try await Self.told(.seq(seq), of: visit.segment("u"), moment, visit)
                }
                guard let told else { return try await unreadable(seq, moment, trouble, visit) }
                var page = ItemPage(told, visit)
                // Without them where one of them is damaged.
                _ = try await visit.trouble {
                    (page.newer, page.older) = try await neighbours(of: told.item, list, moment, visit)
                }
                return visit.page(told.item.content.title ?? "Item \(seq)", page)
            },
            // Both have salts and payloads, for somebody who may read the log.
            ConsolePage(.get, "/users/{u}/items/{item}/decision", .key(.audit)) { visit in
                let (seq, user) = (try seq(visit), visit.segment("u"))
                var record = try await visit.store.decision(on: .seq(seq), by: user)
                let note = try await visit.service.checkpoint(through: Seq(record.treeHead.size))
                record.seen = try await visit.store.proofs.treeHead(record.treeHead, seenIn: note)
                return file("application/json", record.json + "\n")
                    .kept(as: ["decision", "\(seq)", user], ending: ".json")
            },
            ConsolePage(.get, "/users/{u}/items/{item}/story", .key(.audit), query: ["asOf"]) { visit in
                let (seq, user) = (try seq(visit), visit.segment("u"))
                let (store, service) = (visit.store, visit.service)
                await service.treeAtStart.wait()
                let life = try await store.life(of: .seq(seq), of: user, asOf: try visit.moment("asOf"))
                let page = try await store.provedStory(of: life).page(signedBy: service.checkpointKey)
                // A broadcast is an item of many, and is told anew as its life goes on.
                return file("text/html; charset=utf-8", page)
                    .kept(as: ["story", "\(seq)", user, "asof", "\(life.asOf)"], ending: ".html")
            },
        ]
    }

    private static func seq(_ visit: Visit) throws -> Seq {
        guard let seq = Seq(visit.segment("item")), seq > .zero else {
            throw Problem.invalid("item", "must be the number of an item, from 1 on")
        }
        return seq
    }

    private static func file(_ type: String, _ text: String) -> Response {
        let headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    // MARK: The item

    /// An item and what happened to it.
    private struct Told {
        let user: String
        let item: Item
        var asOf: Seq
        var events: [Event] = []
        var story: ItemStory?
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
                let story = try await store.story(of: life)
                // What changed nothing when it came may be what counts since something else was undone.
                var events = Dictionary(life.events.map { ($0.seq, $0) }) { first, _ in first }
                for case let seq? in story.clauses.filter({ $0.topic != .quiet }).map(\.event) where events[seq] == nil
                {
                    events[seq] = try await store.log.event(seq)
                }
                (told.story, told.toldThrough) = (story, life.asOf)
                told.events = events.values.sorted { $0.seq < $1.seq }
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
        toldThrough = told.trouble == nil || told.story == nil ? nil : told.toldThrough
        story = (told.story?.clauses ?? []).map { clause in
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
        steps = told.events.map { Self.step($0, of: item.seq, among: told.events, told.story) }
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

    // MARK: An item that cannot be read

    private static func unreadable(
        _ seq: Seq, _ moment: Moment?, _ trouble: Visit.Trouble?, _ visit: Visit
    ) async throws -> Response {
        let (store, user) = (visit.store, visit.segment("u"))
        var traces: [Event] = []
        let further = try await visit.trouble { traces = try await store.traces(of: seq, of: user, asOf: moment) }
        let head = try await store.log.head()
        var page = ItemPage(seq, traces, try await store.log.seq(of: moment ?? .seq(head)), trouble, visit)
        page.hidden = further?.finding
        if seq > 1 {
            _ = try await visit.trouble {
                page.mutes = try await store.mutes(of: user, asOf: .seq(seq - 1)).mutes.map(UserPage.Mute.init)
            }
        }
        return visit.page("Item \(seq)", page)
    }

    private init(_ seq: Seq, _ traces: [Event], _ asOf: Seq, _ trouble: Visit.Trouble?, _ visit: Visit) {
        (person, self.seq, self.asOf, isPast) = (Person(visit, .tray), seq, asOf, visit.query["asOf"] != nil)
        (isUnreadable, untold, toldThrough) = (true, trouble?.finding, nil)
        (title, body, topic, outcome, data) = (nil, nil, nil, nil, nil)
        (isAwaiting, isOver) = (false, false)
        (story, occasions, actions, states, facts) = ([], [], [], [], [])
        steps = traces.map { Self.step($0, of: seq, among: traces, nil) }
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

    /// When it was seen and read last, from where, by whom: the answer to "did she see it?", as the story tells it.
    private static func occasions(_ told: Told) -> [Occasion] {
        let (item, clauses) = (told.item, told.story?.clauses ?? [])
        func event(_ clause: ItemStory.Clause?) -> Event? { told.events.first { $0.seq == clause?.event } }
        func occasion(
            _ name: String, _ topics: Set<ItemStory.Clause.Topic>, _ holds: Bool, _ event: Event?, _ word: String
        ) -> Occasion {
            guard holds else {
                let wasSo = clauses.contains { topics.contains($0.topic) && $0.event != nil }
                let otherwise = wasSo ? "No longer \(name)" : item.isGone ? "Never \(name)" : "Not \(name) yet"
                return Occasion(holds: false, icon: "cross", word: otherwise, at: nil, device: nil, actor: nil)
            }
            let isSight = name != "seen" || word == Self.onScreen
            return Occasion(
                holds: isSight, icon: isSight ? "check" : "minus", word: word, at: event?.recordedAt,
                device: event?.device, actor: event?.actor.flatMap { $0.utf8.elementsEqual(told.user.utf8) ? nil : $0 })
        }
        let (seen, read) = (event(told.story?.seen), event(told.story?.read))
        return [
            occasion("seen", [.seen, .read], item.isSeen, seen, Self.sight(seen, told.story?.seen?.isListed)),
            occasion(
                "read", [.read], item.isRead, read, read?.isOfMany == true ? "Marked as read with others" : "Read"),
        ]
    }

    private static let onScreen = "Seen"

    /// How an event made an item seen, as its sentence says it.
    private static func sight(_ event: Event?, _ isListed: Bool?) -> String {
        switch event?.body {
        case .traySeen where isListed == true: onScreen
        case .traySeen where isListed == false: "Marked as seen, not on screen"
        case .marked(.read, let items) where items.count == 1: onScreen
        case .acted: onScreen
        case .marked(.read, _), .allMarked(.read, _, _): "Marked as seen with others"
        default: "Marked as seen"
        }
    }

    /// An event of the item's life, in words.
    private static func step(_ event: Event, of item: Seq, among events: [Event], _ story: ItemStory?) -> Step {
        let summary = EventSummary(event, mostItems: 1, time: Moments.text)
        var (title, detail, until, replacement) = (summary.title, "", Timestamp?.none, Seq?.none)
        switch event.body {
        case .notified(let content) where event.seq != item:
            (title, detail, replacement) = (
                "Replaced by", content.title ?? content.body ?? "item \(event.seq)", event.seq
            )
        case .arrived(let other, _, _, _, let content) where other != item:
            (title, detail, replacement) = ("Replaced by", content.title ?? content.body ?? "item \(other)", other)
        case .notified, .broadcast, .arrived: title = "Arrived"
        case .traySeen: title = sight(event, story?.clauses.first { $0.event == event.seq }?.isListed)
        case .marked(let mark, let items):
            title = mark.rawValue.prefix(1).uppercased() + mark.rawValue.dropFirst()
            detail = items.count > 1 ? "with \(Figures.count(items.count - 1, "other item"))" : ""
        case .allMarked(let mark, _, _):
            title = mark.rawValue.prefix(1).uppercased() + mark.rawValue.dropFirst()
            detail = "with all others" + (summary.detail.isEmpty ? "" : ": " + summary.detail)
        case .snoozed(_, let end): until = end
        case .acted(_, let action, let note, _): detail = action + (note.map { ": \($0)" } ?? "")
        case .woken, .retracted, .expired, .reminded: break
        case .edited: detail = summary.detail.replacing("item \(item): ", with: "")
        default: detail = summary.detail
        }
        // One clock for all: what a caller claims stands beside it, and is called so.
        let claimed = event.occurredAt.flatMap {
            Moments.isClaimed($0, recordedAt: event.recordedAt) ? $0 : nil
        }
        let undo = events.first { if case .undone(event.seq) = $0.body { true } else { false } }
        return Step(
            seq: event.seq, icon: EventRow.icon(event.kind), title: title, detail: detail, until: until,
            replacement: replacement, device: event.device, actor: event.shownActor, at: event.recordedAt,
            undo: undo.map { Undo(seq: $0.seq, by: $0.shownActor, at: $0.recordedAt) }, claimed: claimed)
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
