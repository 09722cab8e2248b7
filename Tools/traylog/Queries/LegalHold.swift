@_spi(Operations) import Traylog

extension BlockingReader {
    /// The event that put a user on legal hold, for people who look at the user's data.
    ///
    /// - Returns: nil for somebody who is not held, and where damage hides it: that is no reason to show nothing.
    func knownHold(of user: String) -> Event? { try? hold(of: user) }
}

extension Event {
    /// The hold that it begins, beside the name of the user.
    var holdFact: (String, Cell) {
        ("legal hold", Cell("since \(recordedAt.zonedText), by \(shownActor ?? "nobody named"), event \(seq)", .bold))
    }
}

extension BlockingReader {
    /// The names of all who are held, as bytes, as the store tells them apart.
    var heldUsers: Set<[UInt8]> {
        var names: Set<[UInt8]> = []
        for event in (try? holdChanges(after: .zero))?.events ?? [] {
            guard let user = event.user.map({ Array($0.utf8) }) else { continue }
            if event.kind == .held { names.insert(user) } else { names.remove(user) }
        }
        return names
    }
}
