import TraylogDomain

/// Describes an event for people: the title says what happened, the detail what it happened to.
///
/// ```swift
/// let summary = EventSummary(event)
/// print(summary.title, summary.detail)  // Marked all read · thread build
/// ```
@_spi(Operations) public struct EventSummary: Hashable, Sendable, Codable {
    /// `Marked all read`; never empty.
    public let title: String
    /// `thread build, up to 20`; for a notification its title or text.
    ///
    /// Empty if there is no detail.
    public let detail: String

    /// - Parameters:
    ///   - mostItems: how many numbers of items are named; the rest is counted.
    ///   - time: writes a time as the reader's other times are written.
    public init(
        _ event: Event, mostItems: Int = 5, time: (Timestamp) -> String = { $0.description }
    ) {
        switch event.body {
        case .marked(let mark, let items):
            title = "Marked \(mark.rawValue)"
            detail = Self.list(items, most: mostItems)
        case .allMarked(let mark, let filter, let upTo):
            title = "Marked all \(mark.rawValue)"
            detail = Self.words(filter, upTo: upTo)
        case .redacted(let kind):
            title = kind.title
            detail = "content erased"
        default:
            title = event.kind.title
            detail = Self.detail(event.body, time)
        }
    }

    private static func detail(_ body: Event.Body, _ time: (Timestamp) -> String) -> String {
        switch body {
        case .notified(let content): words(content)
        case .broadcast(let topic, let content): "to topic \(topic): \(words(content))"
        case .arrived(let item, let topic, _, _, let content):
            (topic.map { "to topic \($0): " } ?? "") + "item \(item): \(words(content))"
        case .traySeen(let upTo): "everything up to \(upTo)"
        case .muted(let scope, let until): words(scope) + (until.map { " until \(time($0))" } ?? "")
        case .unmuted(let scope): words(scope)
        case .snoozed(let item, let until): "item \(item) until \(time(until))"
        case .woken(let item), .retracted(let item), .expired(let item), .reminded(let item): "item \(item)"
        case .acted(let item, let action, let note, _): "item \(item): \(action)" + (note.map { ", \($0)" } ?? "")
        case .edited(let item, let edit): "item \(item): \(words(edit))"
        case .subscribed(let topic, _), .unsubscribed(let topic, _): "topic \(topic)"
        case .undone(let seq): "event \(seq) no longer counts"
        case .audited(let purpose, _): purpose ?? ""
        case .held: "none of this person's data may be removed"
        case .compacted(let through, let dropped, let archive):
            "\(dropped) events up to \(through) removed" + (archive.map { ", kept in archive \($0)" } ?? "")
        case .lost: "this log was restored from an export without it"
        default: ""
        }
    }

    private static func words(_ content: Content) -> String {
        content.title ?? content.body ?? (content.isSilent ? "silent, no title" : "no title")
    }

    private static func words(_ scope: MuteScope) -> String {
        switch scope {
        case .thread(let name): "thread \(name)"
        case .category(let name): "category \(name)"
        case .topic(let name): "topic \(name)"
        case .all: "everything but critical items"
        }
    }

    private static func list(_ items: [Seq], most: Int) -> String {
        let named = items.prefix(most).map(\.description).joined(separator: ", ")
        let rest = items.count > most ? " and \(items.count - most) more" : ""
        return (items.count == 1 ? "item " : "items ") + named + rest
    }

    private static func words(_ filter: ItemFilter, upTo: Seq) -> String {
        var parts: [String] = []
        switch filter.thread {
        case .named(let name): parts.append("thread \(name)")
        case .unthreaded: parts.append("items without a thread")
        case .any: break
        }
        if let category = filter.category { parts.append("category \(category)") }
        parts.append("up to \(upTo)")
        return parts.joined(separator: ", ")
    }

    private static func words(_ edit: ContentEdit) -> String {
        var names: [String] = []
        if edit.title != .keep { names.append("title") }
        if edit.body != .keep { names.append("text") }
        if edit.summaryArgument != .keep || edit.summaryCount != .keep { names.append("summary") }
        if edit.level != .keep { names.append("level") }
        if edit.expiresAt != .keep { names.append("expiry") }
        if edit.remindAt != .keep { names.append("reminder") }
        if edit.notBefore != .keep { names.append("time of arrival") }
        if edit.data != .keep { names.append("data") }
        return names.joined(separator: ", ")
    }
}

@_spi(Operations) extension EventKind {
    /// The kind in words: `Saw the tray` for `traySeen`.
    public var title: String {
        switch self {
        case .notified: "Notified"
        case .traySeen: "Saw the tray"
        case .marked: "Marked items"
        case .allMarked: "Marked all"
        case .muted: "Muted"
        case .unmuted: "Unmuted"
        case .snoozed: "Snoozed"
        case .woken: "Woke up"
        case .edited: "Edited"
        case .retracted: "Retracted"
        case .subscribed: "Subscribed"
        case .unsubscribed: "Unsubscribed"
        case .broadcast: "Broadcast"
        case .undone: "Undid an event"
        case .expired: "Expired"
        case .erased: "Erased a person"
        case .compacted: "Compacted the log"
        case .held: "Put on legal hold"
        case .released: "Released from legal hold"
        case .lost: "Lost event"
        case .acted: "Answered"
        case .reminded: "Reminded"
        case .audited: "Read the history"
        case .arrived: "Arrived"
        }
    }
}

@_spi(Operations) extension Event {
    /// The person who acted: the named actor, or the user where only the user can do it; nil if the log does not say.
    ///
    /// Nil for a notification without an actor, because its user received it and its sender is unknown. Nil if an erasure removed
    /// the name.
    public var shownActor: String? {
        if let actor { return actor }
        switch body {
        case .traySeen, .marked, .allMarked, .muted, .unmuted, .snoozed, .subscribed, .unsubscribed, .undone,
            .acted:
            return user
        default: return nil
        }
    }
}
