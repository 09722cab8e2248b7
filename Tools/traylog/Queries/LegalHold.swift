@_spi(Operations) import Traylog

extension BlockingReader {
    /// The event that put a user on legal hold, for people who look at the user's data.
    ///
    /// - Returns: nil for somebody who is not held, and where damage hides it: that is no reason to show nothing.
    func knownHold(of user: String) -> Event? { try? hold(of: user) }

    /// The names of all who are held, as bytes; of nobody where damage hides them.
    var heldUsers: Set<[UInt8]> { (try? legalHolds())?.names ?? [] }
}

extension Event {
    /// The hold that it begins, beside the name of the user.
    var holdFact: (String, Cell) {
        ("legal hold", Cell("since \(recordedAt.zonedText), by \(shownActor ?? "nobody named"), event \(seq)", .bold))
    }
}
