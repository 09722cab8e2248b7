@_spi(Operations) import Traylog

extension BlockingReader {
    /// The event that put a user on legal hold, for people who look at the user's data.
    ///
    /// - Returns: nil for somebody who is not held, and where damage hides it: that is no reason to show nothing.
    func knownHold(of user: String) -> Event? { try? hold(of: user) }

    /// The names of all who are held, as bytes; of nobody where damage hides them.
    var heldUsers: Set<[UInt8]> { (try? legalHolds())?.names ?? [] }
}

extension Optional<Event> {
    /// What stands above a list of a held person's items on a terminal, and nothing where nobody is held.
    ///
    /// A pipe gets the list alone: programs count its lines.
    func heading(on terminal: Terminal) -> [String] {
        guard let hold = self, terminal.isLimited else { return [] }
        return FactsText([hold.holdFact]).lines(on: terminal) + [""]
    }
}

extension Event {
    /// The hold that it begins, beside the name of the user.
    var holdFact: (String, Cell) {
        ("legal hold", Cell("since \(recordedAt.zonedText), by \(shownActor ?? "nobody named"), event \(seq)", .bold))
    }
}
