import Traylog

/// The names that a key is limited to.
///
/// A key that is limited to users alone reaches no topic, because a broadcast reaches whoever is subscribed; one that is limited to
/// topics alone reaches no user. The empty prefix stands for all names.
package struct NameLimits: Equatable, Sendable {
    /// The prefix that every user name must have; nil allows no user.
    package let users: String?
    /// The prefix that every topic name must have; nil allows no topic.
    package let topics: String?

    package func admits(user: String) -> Bool { users.map { user.utf8.starts(with: $0.utf8) } ?? false }

    package func admits(topic: String) -> Bool { topics.map { topic.utf8.starts(with: $0.utf8) } ?? false }

    /// Whether an event is one of the users, or a broadcast to one of the topics.
    package func admits(_ event: Event) -> Bool {
        if let user = event.user { return admits(user: user) }
        return switch event.body {
        case .broadcast(let topic, _), .arrived(_, let topic?, _, _, _): admits(topic: topic)
        default: false
        }
    }

    /// - Throws: ``Problem`` 403.
    package func check(user: String) throws(Problem) {
        guard admits(user: user) else { throw .outsidePrefix("the key is for other users") }
    }

    /// - Throws: ``Problem`` 403.
    package func check(topic: String) throws(Problem) {
        guard admits(topic: topic) else { throw .outsidePrefix("the key is for other topics") }
    }
}

extension Problem {
    static func outsidePrefix(_ detail: String) -> Problem { .forbidden("outsidePrefix", detail) }
}

extension Route {
    /// Checks that a caller may send such a request.
    ///
    /// - Parameter path: the values of the path's variables.
    /// - Throws: ``Problem`` 401, 403.
    package func check(_ caller: Caller?, path: [String: String]) throws(Problem) {
        try access.check(caller, user: path["u"])
        guard let limits = caller?.limits, !access.isOpen else { return }
        guard takesLimitedKeys else {
            throw .outsidePrefix("this concerns all names, and the key is limited to some")
        }
        if let user = path["u"] { try limits.check(user: user) }
        for variable in ["t", "topic"] { if let topic = path[variable] { try limits.check(topic: topic) } }
    }
}

extension Call {
    /// The names that the caller is limited to; nil for one that is not.
    package var limits: NameLimits? { caller?.limits }

    /// The command, with the name of the key as its actor if it has no other.
    package func attributed(_ command: Command) -> Command {
        guard case .key(_, let key) = caller, let name = key.name, command.actor == nil else { return command }
        var command = command
        command.actor = name
        return command
    }

    /// Checks that a command concerns nothing but what the caller is limited to.
    ///
    /// - Throws: ``Problem`` 403.
    nonisolated(nonsending) func checkNames(of command: Command) async throws(Problem) {
        guard let limits else { return }
        if let user = command.user { try limits.check(user: user) }
        switch command.action {
        case .broadcast(let topic, _), .subscribe(let topic), .unsubscribe(let topic): try limits.check(topic: topic)
        case .edit(let item, _), .retract(let item):
            guard command.user == nil else { return }
            // The key must not learn whether there is such a broadcast, or whose it is.
            guard case .seq(let seq) = item, let event = try? await store.events(from: seq, limit: 1).elements.first,
                event.seq == seq, case .broadcast(let topic, _) = event.body, limits.admits(topic: topic)
            else { throw .outsidePrefix("the item is not in one of the key's topics") }
        default: guard command.user != nil else { throw .outsidePrefix("the command has no user") }
        }
    }
}
