import TerminalText
@_spi(Operations) import Traylog
@_spi(JSON) import TraylogJSON

/// What a file proves of its first events: number, time and kind, and of those that it discloses who got what.
struct ProvedEventsText {
    private let events: [ProvedEvent]
    /// How many events the file proves.
    private let count: Int
    /// The longest text of an event: whoever made the file chose it.
    private static let longestText = 300

    init(_ events: [ProvedEvent], of count: Int) { (self.events, self.count) = (events, count) }

    /// A table, where there is an event, below an empty line.
    func lines(on terminal: Terminal) -> [String] {
        guard !events.isEmpty else { return [] }
        let isDisclosed = events.contains { $0.event != nil }
        var table = Table(
            [.whole("EVENT", .right), .time("RECORDED"), .whole("KIND")]
                + (isDisclosed ? [.flexible("USER"), .flexible("ACTOR"), .main("WHAT")] : []), on: terminal)
        let rows = events.map { proved in
            [Cell(proved.seq), Cell(proved.recordedAt), Cell(proved.kind?.rawValue)]
                + (isDisclosed ? said(proved.event) : [])
        }
        let rest = count - events.count
        return [""] + table.lines(rows) + (rest > 0 ? ["and \(rest.grouped) more"] : [])
    }

    private func said(_ event: Event?) -> [Cell] {
        guard let event else { return [Cell(""), Cell(""), Cell("not disclosed", .dim)] }
        let (user, actor) = (event.user, event.shownActor)
        return [
            Cell(user?.truncated(to: Self.longestText)), Cell(actor?.truncated(to: Self.longestText)),
            Cell(event.words.truncated(to: Self.longestText)),
        ]
    }

    /// The member `events`, each as `show --json` has it where it is disclosed, and `more`, how many others there are.
    func write(to writer: inout JSONWriter) {
        writer.name("events")
        writer.beginArray()
        for proved in events {
            if let event = proved.event {
                writer.write(event)
            } else {
                writer.beginObject()
                writer.member("seq", proved.seq)
                if let time = proved.recordedAt { writer.member("recordedAt", time) }
                if let time = proved.occurredAt { writer.member("occurredAt", time) }
                if let kind = proved.kind { writer.member("kind", kind.rawValue) }
                writer.endObject()
            }
        }
        writer.endArray()
        writer.member("more", count - events.count)
    }
}
