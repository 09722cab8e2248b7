@_spi(Operations) @_spi(Wire) import Traylog

/// An event as the rows of the console show it.
struct EventRow {
    private static let longestText = 240

    let event: Event
    var step: AuditStep?
    /// The event that voided this one.
    var voidedBy: Seq?
    /// The title of the item that it is about, where it names the item alone by its number.
    var subject: String?

    /// What its templates show.
    struct Shown {
        struct Step {
            let before, after: String
            let isUp, isDown: Bool
        }

        let seq: Seq
        let recordedAt, when: Timestamp
        let occurred: Timestamp?
        let kind, icon, sentence, what: String
        /// The kind, where the sentence says something else.
        let raw: String?
        let user, actor, device: Name?
        let subject: String?
        let voidedBy, undoes: Seq?
        let isErased, isItem, isMuted: Bool
        /// Whether `when` is what a caller claims, and the log recorded another time.
        let isClaimed: Bool
        let step: Step?
    }

    var shown: Shown {
        let summary = EventSummary(event, time: Moments.text)
        return Shown(
            seq: event.seq, recordedAt: event.recordedAt, when: event.occurredAt ?? event.recordedAt,
            occurred: event.occurredAt, kind: event.kind.rawValue, icon: Self.icon(event.kind), sentence: summary.title,
            what: Self.shortened(summary.detail),
            raw: summary.title.lowercased() == event.kind.rawValue ? nil : event.kind.rawValue,
            user: event.user.map(Name.init), actor: event.shownActor.map(Name.init),
            device: event.device.map { event.kind == .audited ? Name($0, shown: LookedPage.place($0)) : Name($0) },
            subject: subject, voidedBy: voidedBy, undoes: undoes, isErased: isErased, isItem: isItem,
            isMuted: isMutedArrival,
            isClaimed: Moments.isClaimed(event.occurredAt, recordedAt: event.recordedAt),
            step: step.map {
                Shown.Step(
                    before: Figures.count($0.before.unread), after: Figures.count($0.after.unread),
                    isUp: $0.after.unread > $0.before.unread, isDown: $0.after.unread < $0.before.unread)
            })
    }

    /// Whether it brought an item that is listed and does not count: why the unread count stands still.
    private var isMutedArrival: Bool {
        guard let step, [.notified, .broadcast, .arrived].contains(event.kind) else { return false }
        return step.after.total > step.before.total && step.after.unread == step.before.unread
    }

    /// The items that the event is about, beside one that it brings itself.
    private var items: [Seq] {
        switch event.body {
        case .marked(_, let items): items
        case .snoozed(let item, _), .woken(let item), .edited(let item, _), .retracted(let item), .expired(let item),
            .acted(let item, _, _, _), .reminded(let item), .arrived(let item, _, _, _, _):
            [item]
        default: []
        }
    }

    /// The rows with the titles of the items that they are about: numbers tell a reader nothing.
    ///
    /// - Parameter words: those that were searched; of several items one that has them is named.
    static func withSubjects(_ rows: [EventRow], _ store: Store, words: String? = nil) async -> [EventRow] {
        var titles: [Seq: String?] = [:]
        var named: [EventRow] = []
        let wanted = words.map { LogSearch.words($0.lowercased()) }
        for var row in rows {
            for item in row.items.prefix(wanted == nil ? 1 : mostLookedAt) {
                if titles[item] == nil { titles[item] = .some(try? await store.log.event(item).shownTitle) }
                let title = titles[item] ?? nil
                row.subject = row.subject ?? title
                if let title, let wanted, wanted.allSatisfy(title.lowercased().contains) {
                    row.subject = title
                    break
                }
            }
            named.append(row)
        }
        return named
    }

    /// Items of one event whose titles are compared with the words.
    private static let mostLookedAt = 20

    private static func shortened(_ text: String) -> String {
        text.count > longestText ? text.prefix(longestText) + "…" : text
    }

    private var isErased: Bool { if case .redacted = event.body { true } else { false } }

    /// Whether it brought an item, whose page has what became of it.
    private var isItem: Bool { if case .notified = event.body { event.user != nil } else { false } }

    private var undoes: Seq? { if case .undone(let seq) = event.body { seq } else { nil } }

    static func icon(_ kind: EventKind) -> String {
        switch kind {
        case .notified, .arrived: "bell"
        case .broadcast: "broadcast"
        case .traySeen, .audited: "eye"
        case .marked, .allMarked: "check"
        case .muted, .unmuted: "mute"
        case .snoozed, .woken: "clock"
        case .edited: "pen"
        case .undone: "undo"
        case .acted: "check"
        case .reminded: "bell"
        case .subscribed, .unsubscribed: "topic"
        case .compacted: "compact"
        case .held, .released: "shield"
        default: "cross"
        }
    }
}

extension Event {
    /// The title of what it brought, else its text; nil for other events.
    fileprivate var shownTitle: String? {
        switch body {
        case .notified(let content), .broadcast(_, let content): content.title ?? content.body
        default: nil
        }
    }
}
