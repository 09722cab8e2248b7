import Hummingbird
@_spi(Operations) import Traylog
import TraylogServer

/// Who got a broadcast, and has seen and read it.
struct AudiencePage: PageContent {
    static let template = PageTemplate.audience

    struct Recipient {
        let user: Name
        let seen, read: Timestamp?
        let answer: String?
    }

    let seq: Seq
    let part, title: String
    let parts: [Choice]
    let recipients: [Recipient]
    /// The name after which the next page begins.
    let next: String?

    private static let rows = 50

    static var all: [ConsolePage] {
        [
            ConsolePage(.get, "/events/{seq}/audience", .key(.users), query: ["part", "after"], shows: .persons) {
                visit in
                guard let seq = UInt64(visit.segment("seq")), seq > 0 else {
                    throw Problem.invalid("seq", "must be the number of a broadcast, from 1 on")
                }
                let part = try Audience.Part(named: visit.query["part"] ?? "unread", by: "part")
                let page = try await visit.store.recipients(
                    of: Seq(seq), part, after: visit.query["after"], limit: rows)
                try await visit.reader().record(persons: page.elements.map(\.user))
                let content = AudiencePage(
                    seq: Seq(seq), part: part.rawValue, title: title(part),
                    parts: Audience.Part.allCases.map {
                        Choice(value: $0.rawValue, title: title($0), isChosen: $0 == part)
                    },
                    recipients: page.elements.map {
                        Recipient(
                            user: Name($0.user), seen: $0.seen?.at, read: $0.read?.at, answer: $0.outcome?.action)
                    },
                    next: page.next.map { PercentEncoding.encode($0) })
                return visit.page("Recipients of \(seq)", content)
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
}

/// The numbers for a broadcast's own page.
struct AudienceFigures {
    struct Part {
        let name, count, share, part: String
    }

    struct Outcome {
        let action, count: String
    }

    let recipients, archived, deleted: String
    let parts: [Part]
    let outcomes: [Outcome]
    /// Nil for a broadcast that asks for no answer.
    let awaiting: String?
    /// Nil where nobody was erased.
    let erased: String?

    init(_ audience: Audience) {
        func part(_ name: String, _ count: Int, _ part: Audience.Part) -> Part {
            Part(
                name: name, count: Figures.count(count),
                share: Share(of: count, in: audience.recipients)?.description ?? "", part: part.rawValue)
        }
        recipients = Figures.count(audience.recipients)
        parts = [
            part("Seen", audience.seen, .seen), part("Not seen", audience.recipients - audience.seen, .unseen),
            part("Read", audience.read, .read), part("Not read", audience.recipients - audience.read, .unread),
        ]
        outcomes = audience.outcomes.map { Outcome(action: $0.action, count: Figures.count($0.count)) }
        awaiting = audience.awaiting > 0 || !outcomes.isEmpty ? Figures.count(audience.awaiting) : nil
        (archived, deleted) = (Figures.count(audience.archived), Figures.count(audience.deleted))
        erased = audience.erased > 0 ? Figures.count(audience.erased) : nil
    }
}
