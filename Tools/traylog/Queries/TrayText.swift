import Traylog

/// A tray for people.
struct TrayText {
    private let tray: Tray
    /// The event that holds the user.
    private let hold: Event?

    init(_ tray: Tray, _ hold: Event?) { (self.tray, self.hold) = (tray, hold) }

    func lines(on terminal: Terminal) -> [String] {
        let state = tray.isSeen ? Cell("everything seen") : Cell("● \(tray.unseen.grouped) unseen", .bold)
        var facts = [("user", Cell(tray.user, .bold))]
        if let hold { facts.append(hold.holdFact) }
        facts += [
            ("state", state), ("unseen", Cell(tray.unseen)),
            ("unread", Cell(tray.unread)), ("awaiting", Cell(tray.awaiting)), ("total", Cell(tray.total)),
            ("seen up to", Cell(tray.seenUpTo)),
            ("seen at", tray.seenAt.map { Cell(zoned: $0) } ?? Cell("never")),
            ("newest", Cell(tray.newest.map(\.description) ?? "none")), ("as of", Cell(tray.asOf)),
        ]
        var result = FactsText(facts).lines(on: terminal)
        guard !tray.categories.isEmpty else { return result }
        var table = Table([.flexible("CATEGORY"), .whole("UNSEEN", .right), .whole("UNREAD", .right)], on: terminal)
        let rows = tray.categories.map { [Cell($0.category), Cell($0.unseen), Cell($0.unread)] }
        result.append("")
        result += table.lines(rows)
        return result
    }
}
