import Traylog

/// An event as the rows of the console show it.
struct EventRow {
    private static let longestText = 240

    let event: Event
    var step: AuditStep?
    /// The event that voided this one.
    var voidedBy: Seq?

    var context: [String: Any] {
        var context: [String: Any] = [
            "seq": event.seq.description, "recordedAt": Moments.context(event.recordedAt), "kind": event.kind.rawValue,
            "icon": Self.icon(event.kind), "what": what, "erased": isErased,
            "actor": event.actor ?? event.user ?? "", "isOther": event.actor != nil && event.actor != event.user,
            "device": event.device ?? "", "user": event.user ?? "", "hasUser": event.user != nil,
            "userPath": event.user.map(PercentEncoding.encode) ?? "",
            "topic": topic, "undoes": undoes?.description ?? "", "isUndo": undoes != nil,
            "voidedBy": voidedBy?.description ?? "", "isVoided": voidedBy != nil, "hasStep": step != nil,
            "occurred": event.occurredAt.map { [Moments.context($0)] } ?? [],
        ]
        if let step {
            context["before"] = "\(step.before.unread)"
            context["after"] = "\(step.after.unread)"
            context["isUp"] = step.after.unread > step.before.unread
            context["isDown"] = step.after.unread < step.before.unread
        }
        return context
    }

    private var isErased: Bool { if case .redacted = event.body { true } else { false } }

    private var topic: String { if case .broadcast(let topic, _) = event.body { topic } else { "" } }

    private var undoes: Seq? { if case .undone(let seq) = event.body { seq } else { nil } }

    /// What happened, in a few words.
    private var what: String {
        switch event.body {
        case .notified(let content), .broadcast(_, let content):
            Self.short(
                content.title ?? content.body ?? (content.isSilent ? "silent, without a title" : "without a title"))
        case .traySeen(let upTo): "everything up to \(upTo) is seen"
        case .marked(let mark, let items): "\(mark.rawValue): \(Self.list(items))"
        case .allMarked(let mark, let selection): "all \(mark): \(Self.words(selection))"
        case .muted(let scope), .unmuted(let scope): Self.words(scope)
        case .snoozed(let item, let until): "item \(item) until \(Moments.text(until))"
        case .woken(let item): "item \(item) is back"
        case .edited(let item, let edit): Self.words(item, edit)
        case .retracted(let item): "item \(item) was taken back"
        case .subscribed(let topic), .unsubscribed(let topic): Self.short(topic)
        case .undone(let seq): "event \(seq) does not count"
        case .expired(let item): "item \(item) was due"
        case .erased: "a person was erased"
        case .held: "nothing of this person may leave the log"
        case .released: "the hold is over"
        case .lost: "the event could not be read when this log was saved"
        case .redacted: "the content was erased"
        case .compacted(let through, let dropped, let archive):
            "\(dropped) events below \(through) left the log" + (archive.map { ", into \($0)" } ?? "")
        @unknown default: ""
        }
    }

    private static func short(_ text: String) -> String {
        text.count > longestText ? text.prefix(longestText) + "…" : text
    }

    private static func list(_ items: [Seq]) -> String {
        let first = items.prefix(5).map(\.description).joined(separator: ", ")
        return items.count > 5 ? "\(first) and \(items.count - 5) more" : first
    }

    private static func words(_ selection: Selection) -> String {
        var parts: [String] = []
        switch selection.thread {
        case .named(let name): parts.append("thread \(name)")
        case .unthreaded: parts.append("without a thread")
        default: break
        }
        if let category = selection.category { parts.append("category \(category)") }
        if let upTo = selection.upTo { parts.append("up to \(upTo)") }
        return parts.joined(separator: ", ")
    }

    private static func words(_ scope: MuteScope) -> String {
        switch scope {
        case .thread(let name): "thread \(name)"
        case .category(let name): "category \(name)"
        }
    }

    private static func words(_ item: Seq, _ edit: ContentEdit) -> String {
        var names: [String] = []
        if edit.title != .keep { names.append("title") }
        if edit.body != .keep { names.append("body") }
        if edit.summaryArgument != .keep || edit.summaryCount != .keep { names.append("summary") }
        if edit.level != .keep { names.append("level") }
        if edit.expiresAt != .keep { names.append("expiry") }
        if edit.data != .keep { names.append("data") }
        return "item \(item): \(names.joined(separator: ", "))"
    }

    private static func icon(_ kind: EventKind) -> String {
        switch kind {
        case .notified: "bell"
        case .broadcast: "broadcast"
        case .traySeen: "eye"
        case .marked, .allMarked: "check"
        case .muted, .unmuted: "mute"
        case .snoozed, .woken: "clock"
        case .edited: "pen"
        case .undone: "undo"
        case .subscribed, .unsubscribed: "topic"
        case .compacted: "compact"
        case .held, .released: "shield"
        default: "cross"
        }
    }
}

/// Times as pages show them: UTC, which a script turns into the browser's zone.
enum Moments {
    static func context(_ time: Timestamp) -> [String: Any] { ["iso": time.rfc3339, "text": text(time)] }

    /// `2026-11-22 09:00:00 UTC`.
    static func text(_ time: Timestamp) -> String {
        time.rfc3339.prefix(19).replacing("T", with: " ") + " UTC"
    }
}

/// Numbers as people read them.
enum Figures {
    /// Digits in groups of three.
    static func count(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0, digits[index - 1] != "-" { text += "\u{202f}" }
            text.append(digit)
        }
        return text
    }

    static func bytes(_ number: UInt64) -> String {
        var (value, unit) = (Double(number), 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1_024, unit + 1 < units.count { (value, unit) = (value / 1_024, unit + 1) }
        return unit == 0 ? "\(number) B" : "\(Double(Int(value * 10)) / 10) \(units[unit])"
    }
}
