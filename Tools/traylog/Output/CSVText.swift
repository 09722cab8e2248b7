import Traylog

/// Comma-separated values as RFC 4180 has them: lines end with CRLF, and fields are quoted where they must be.
///
/// Texts come from anywhere, and a spreadsheet runs a field that begins like a formula. Such a field gets a `'` in front,
/// which a spreadsheet does not show.
enum CSVText {
    /// One line, without the newline that ``Output/line(_:)`` adds.
    static func line(_ fields: [String?]) -> String {
        fields.map { field($0 ?? "") }.joined(separator: ",") + "\r"
    }

    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } ?? false
        let safe = isFormula && Int64(text) == nil ? "'" + text : text
        guard safe.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}

extension Event {
    static let csvNames = [
        "seq", "recordedAt", "occurredAt", "kind", "user", "key", "actor", "device", "topic", "thread", "category",
        "title",
        "body", "what",
    ]

    /// In the order of ``csvNames``.
    ///
    /// Times are UTC.
    var csvFields: [String?] {
        var (topic, content): (String?, Content?) = (nil, nil)
        switch body {
        case .notified(let own): content = own
        case .broadcast(let to, let own): (topic, content) = (to, own)
        case .arrived(_, let to, _, _, let own): (topic, content) = (to, own)
        case .subscribed(let to, _), .unsubscribed(let to, _): topic = to
        default: break
        }
        return [
            "\(seq)", recordedAt.description, occurredAt?.description, kind.rawValue, user, key, actor, device, topic,
            content?.thread,
            content?.category, content?.title, content?.body, content == nil ? words : nil,
        ]
    }
}

extension Tray {
    static let csvNames = [
        "user", "asOf", "isSeen", "unseen", "unread", "total", "seenUpTo", "seenAt", "newest", "awaiting",
    ]

    /// In the order of ``csvNames``.
    var csvFields: [String?] {
        [
            user, "\(asOf)", "\(isSeen)", "\(unseen)", "\(unread)", "\(total)", "\(seenUpTo)", seenAt?.description,
            newest?.description, "\(awaiting)",
        ]
    }
}

extension Item {
    static let csvNames = [
        "seq", "position", "key", "topic", "thread", "category", "title", "body", "level", "silent", "muted", "seen",
        "read",
        "archived", "snoozedUntil", "expiresAt", "actor", "occurredAt", "recordedAt", "remindAt", "outcome",
    ]

    /// In the order of ``csvNames``.
    var csvFields: [String?] {
        [
            "\(seq)", "\(position)", key, topic, content.thread, content.category, content.title, content.body,
            "\(content.level)", "\(content.isSilent)", "\(isMuted)", "\(isSeen)", "\(isRead)", "\(isArchived)",
            snoozedUntil?.description, content.expiresAt?.description, actor, occurredAt?.description,
            recordedAt.description,
            content.remindAt?.description, outcome?.action,
        ]
    }
}
