import Foundation
import Traylog
import TraylogDomain

/// The JSON forms (Docs/reference/json.md) of the naive model's answers, built for comparison with `JSONSerialization`.
///
/// Written independently of the store's own writers. A value that is `null` and one that is left out compare equal.
package struct NaiveJSON {
    package let naive: NaiveStore
    /// The store's times, by seq − 1.
    package let recordedAt: [Timestamp]

    package init(naive: NaiveStore, recordedAt: [Timestamp]) {
        self.naive = naive
        self.recordedAt = recordedAt
    }

    /// Two categories that are canonically equivalent would be one member of a dictionary: compare histories without.
    package func tray(_ user: String, asOf: Seq? = nil) -> NSDictionary {
        let tray = naive.tray(of: user, asOf: asOf)
        var object: [String: Any] = [
            "user": user, "asOf": tray.asOf.rawValue, "revision": tray.revision, "isSeen": tray.isSeen,
            "unseen": tray.unseen,
            "unread": tray.unread, "awaiting": tray.awaiting, "total": tray.total, "seenUpTo": tray.seenUpTo.rawValue,
            "categories": Dictionary(
                tray.categories.map { ($0.category, ["unseen": $0.unseen, "unread": $0.unread]) },
                uniquingKeysWith: { first, _ in first }),
        ]
        let state = asOf.map { naive.state(of: user, asOf: $0) } ?? naive.state(of: user)
        object["seenAt"] = state.seenBy.map { rfc3339(recordedAt[Int($0.rawValue) - 1]) }
        object["newest"] = tray.newest?.rawValue
        object["newestCounted"] = tray.newestCounted?.rawValue
        return NSDictionary(dictionary: object)
    }

    package func items(_ user: String, _ query: InboxQuery, asOf: Seq? = nil) throws -> NSArray {
        NSArray(array: try naive.matches(of: user, query, asOf: asOf).map(item))
    }

    package func threads(_ user: String) throws -> NSArray {
        NSArray(
            array: try naive.groups(of: user).map { group in
                var object: [String: Any] = [
                    "count": group.count, "unseen": group.unseen, "unread": group.unread,
                    "newest": try item(group.newest), "more": group.more, "names": group.names,
                ]
                object["thread"] = group.thread
                object["summary"] = group.summary
                return object
            })
    }

    private func item(_ item: Item) throws -> [String: Any] {
        let content = item.content
        var object: [String: Any] = [
            "seq": item.seq.rawValue, "position": item.position.rawValue, "summaryCount": content.summaryCount,
            "level": "\(content.level)", "silent": content.isSilent, "muted": item.isMuted, "seen": item.isSeen,
            "read": item.isRead, "archived": item.isArchived,
            "recordedAt": rfc3339(recordedAt[Int(item.seq.rawValue) - 1]),
        ]
        object["key"] = item.key
        object["topic"] = item.topic
        object["thread"] = content.thread
        object["category"] = content.category
        object["title"] = content.title
        object["body"] = content.body
        object["summaryArgument"] = content.summaryArgument
        object["collapseKey"] = content.collapseKey
        object["snoozedUntil"] = item.snoozedUntil.map(rfc3339)
        object["expiresAt"] = content.expiresAt.map(rfc3339)
        object["remindAt"] = content.remindAt.map(rfc3339)
        let arrival = naive.events.first { event in
            if case .arrived(item.seq, _, _, _, _) = event.body { true } else { false }
        }
        object["arrivedAt"] = arrival.map { rfc3339(recordedAt[Int($0.seq.rawValue) - 1]) }
        if !content.actions.isEmpty { object["actions"] = content.actions.map { ["id": $0.id, "label": $0.label] } }
        object["outcome"] = item.outcome.map { outcome in
            var members: [String: Any] = [
                "action": outcome.action, "actor": outcome.actor, "seq": outcome.seq.rawValue,
                "at": rfc3339(recordedAt[Int(outcome.seq.rawValue) - 1]), "asOf": outcome.asOf.rawValue,
            ]
            members["note"] = outcome.note
            return members
        }
        object["actor"] = item.actor
        object["occurredAt"] = item.occurredAt.map(rfc3339)
        object["data"] = try content.data.map {
            try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
        }
        return object
    }

    /// The value with every `null` member left out, except inside `data`, which is the caller's.
    package static func withoutNulls(_ value: Any) -> Any {
        if let array = value as? [Any] { return array.map(withoutNulls) }
        guard let object = value as? [String: Any] else { return value }
        var result: [String: Any] = [:]
        for (key, member) in object where !(member is NSNull) {
            result[key] = key == "data" ? member : withoutNulls(member)
        }
        return result
    }
}

/// UTC with milliseconds, by counting days from year to year.
package func rfc3339(_ time: Timestamp) -> String {
    func padded(_ number: Int64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    let rest = (time.milliseconds % 86_400_000 + 86_400_000) % 86_400_000
    var days = (time.milliseconds - rest) / 86_400_000
    var year: Int64 = 1970
    func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    while days < 0 {
        year -= 1
        days += isLeap(year) ? 366 : 365
    }
    while days >= (isLeap(year) ? 366 : 365) {
        days -= isLeap(year) ? 366 : 365
        year += 1
    }
    var month: Int64 = 1
    for length in [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as [Int64] {
        if days < length { break }
        days -= length
        month += 1
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(days + 1, 2))T\(padded(rest / 3_600_000, 2)):"
        + "\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1_000 % 60, 2)).\(padded(rest % 1_000, 3))Z"
}
