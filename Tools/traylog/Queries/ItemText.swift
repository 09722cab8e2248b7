@_spi(Operations) import Traylog

/// An item with its life for people.
struct ItemText {
    private let life: ItemLife
    /// The event that holds the user.
    private let hold: Event?

    init(_ life: ItemLife, _ hold: Event?) { (self.life, self.hold) = (life, hold) }

    func lines(on terminal: Terminal) -> [String] {
        let item = life.item
        var facts: [(String, Cell)] = [
            ("user", Cell(life.user, .bold))
        ]
        if let hold { facts.append(hold.holdFact) }
        facts += [
            ("item", Cell(item.seq)),
            ("state", Cell(String(item.stateWords.drop { $0 == " " }))), ("position", Cell(item.position)),
        ]
        facts += [("key", item.key), ("topic", item.topic)].compactMap { name, text in text.map { (name, Cell($0)) } }
        facts += item.content.facts
        if let outcome = item.outcome { facts.append(("answer", Cell(outcome.words))) }
        if let occurredAt = item.occurredAt { facts.append(("occurred", Cell(zoned: occurredAt))) }
        facts.append(("recorded", Cell(zoned: item.recordedAt)))
        if let arrivedAt = item.arrivedAt { facts.append(("arrived", Cell(zoned: arrivedAt))) }
        facts.append(("as of", Cell(life.asOf)))
        return FactsText(facts).lines(on: terminal) + [""] + Self.lines(life.events, on: terminal)
    }

    /// The events of a life, a line each.
    static func lines(_ events: [Event], on terminal: Terminal) -> [String] {
        var table = Table(
            [
                .whole("EVENT", .right), .time("RECORDED"), .flexible("ACTOR"), .flexible("DEVICE"), .whole("KIND"),
                .main("WHAT"),
            ], on: terminal)
        let rows = events.map { event in
            [
                Cell(event.seq), Cell(event.recordedAt), Cell(event.shownActor), Cell(event.device),
                Cell(event.kind.rawValue), Cell(event.words),
            ]
        }
        return table.lines(rows)
    }
}

/// One event with all its fields for people.
struct EventText {
    private let event: Event
    /// The event that holds its user.
    private let hold: Event?

    init(_ event: Event, _ hold: Event?) { (self.event, self.hold) = (event, hold) }

    func lines(on terminal: Terminal) -> [String] {
        var facts: [(String, Cell)] = [
            ("seq", Cell(event.seq, .bold)), ("kind", Cell(event.kind.rawValue, .bold)),
            ("recorded", Cell(zoned: event.recordedAt)),
        ]
        if let time = event.occurredAt { facts.append(("occurred", Cell(zoned: time))) }
        facts += [("user", event.user), ("key", event.key), ("actor", event.actor), ("device", event.device)].compactMap
        {
            name, text in text.map { (name, Cell($0)) }
        }
        if let hold { facts.append(hold.holdFact) }
        switch event.body {
        case .notified(let content): facts += content.facts
        case .broadcast(let topic, let content): facts += [("topic", Cell(topic))] + content.facts
        case .arrived(let item, let topic, let key, let notifiedAt, let content):
            facts += [("item", Cell(item)), ("notified", Cell(zoned: notifiedAt))]
            facts += [("item's key", key), ("topic", topic)].compactMap { name, text in text.map { (name, Cell($0)) } }
            facts += content.facts
        default: if !event.words.isEmpty { facts.append(("what", Cell(event.words))) }
        }
        return FactsText(facts).lines(on: terminal)
    }
}

extension Outcome {
    fileprivate var words: String {
        "\(action), by \(actor) on \(at.localText) (event \(seq))" + (note.map { ": \($0)" } ?? "")
    }
}

extension Content {
    /// Each field that is there, and those that always are.
    fileprivate var facts: [(String, Cell)] {
        let texts = [
            ("thread", thread), ("category", category), ("title", title), ("body", body),
            ("summary argument", summaryArgument),
        ]
        var facts = texts.compactMap { name, text in text.map { (name, Cell($0)) } }
        facts += [("summary count", Cell("\(summaryCount)")), ("level", Cell(level.rawValue))]
        if isSilent { facts.append(("silent", Cell("yes"))) }
        if let expiresAt { facts.append(("expires", Cell(zoned: expiresAt))) }
        if let remindAt { facts.append(("remind", Cell(zoned: remindAt))) }
        if let notBefore { facts.append(("not before", Cell(zoned: notBefore))) }
        for action in actions { facts.append(("action", Cell("\(action.id): \(action.label)"))) }
        facts += [("collapse key", collapseKey), ("data", data)].compactMap { name, text in
            text.map { (name, Cell($0)) }
        }
        return facts
    }
}
