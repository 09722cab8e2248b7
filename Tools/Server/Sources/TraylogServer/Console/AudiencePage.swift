import Hummingbird
@_spi(Operations) import Traylog

/// Who got a broadcast, and has seen and read it.
enum AudiencePage {
    private static let rows = 50

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/events/{seq}/audience", .key(.users), query: ["part", "after"], shows: .persons) {
                visit in
                guard let seq = UInt64(visit.segment("seq")), seq > 0 else {
                    throw Problem.invalid("seq", "must be the number of a broadcast, from 1 on")
                }
                guard let part = Audience.Part(rawValue: visit.query["part"] ?? "unread") else {
                    throw Problem.invalid("part", "must be seen, unseen, read, unread, acted or awaiting")
                }
                let page = try await visit.store.recipients(
                    of: Seq(seq), part, after: visit.query["after"], limit: rows)
                try await visit.reader().record(persons: page.elements.map(\.user))
                let recipients = page.elements.map { recipient -> [String: Any] in
                    [
                        "user": recipient.user, "path": PercentEncoding.encode(recipient.user),
                        "seen": recipient.seen.map { [Moments.context($0.at)] } ?? [],
                        "read": recipient.read.map { [Moments.context($0.at)] } ?? [],
                        "answer": recipient.outcome.map { [["action": $0.action]] } ?? [],
                    ]
                }
                return visit.page(
                    .audience, "Recipients of \(seq)",
                    [
                        "section": "log", "seq": "\(seq)", "part": title(part), "recipients": recipients,
                        "isEmpty": recipients.isEmpty,
                        "parts": Audience.Part.allCases.map {
                            ["part": $0.rawValue, "title": title($0), "isShown": $0 == part] as [String: Any]
                        },
                        "next": page.next.map { [["after": PercentEncoding.encode($0), "part": part.rawValue]] } ?? [],
                    ])
            }
        ]
    }

    private static func title(_ part: Audience.Part) -> String {
        switch part {
        case .acted: "answered"
        case .awaiting: "not answered"
        case .unseen: "not seen"
        case .unread: "not read"
        case .seen, .read: part.rawValue
        }
    }

    /// The numbers for a broadcast's own page.
    static func context(of seq: Seq, _ store: Store) async throws -> [String: Any] {
        let audience = try await store.audience(of: seq)
        func share(_ part: Int) -> String {
            audience.recipients == 0 ? "" : "\((part * 100 + audience.recipients / 2) / audience.recipients) %"
        }
        let parts = [
            ("Seen", audience.seen, "seen"), ("Not seen", audience.recipients - audience.seen, "unseen"),
            ("Read", audience.read, "read"), ("Not read", audience.recipients - audience.read, "unread"),
        ]
        return [
            "recipients": Figures.count(audience.recipients),
            "parts": parts.map { name, count, part in
                ["name": name, "count": Figures.count(count), "share": share(count), "part": part]
            },
            "outcomes": audience.outcomes.map { ["action": $0.action, "count": Figures.count($0.count)] },
            "awaiting": audience.awaiting > 0 || !audience.outcomes.isEmpty ? [Figures.count(audience.awaiting)] : [],
            "archived": Figures.count(audience.archived), "deleted": Figures.count(audience.deleted),
            "erased": Figures.count(audience.erased), "hasErased": audience.erased > 0,
        ]
    }
}
