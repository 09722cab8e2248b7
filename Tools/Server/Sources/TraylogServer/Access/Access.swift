import Traylog

/// What a server key may do.
package enum KeyScope: String, CaseIterable, Sendable {
    case publish, users, audit, admin, metrics
}

/// What a user's token may do.
package enum TokenScope: String, CaseIterable, Sendable {
    case read = "inbox:read"
    case write = "inbox:write"
    case publish
}

/// Who sends a request.
package enum Caller: Sendable {
    case key(id: String, ServerKeys.Key)
    case user(String, scopes: Set<TokenScope>)
    /// Another node of the cluster, for a push provider.
    case node
    /// Somebody without valid credentials, whom only rate limits know.
    case nobody(at: CallerAddress)

    /// The key's name, or its id without one; or the user.
    package var name: String {
        switch self {
        case .key(let id, let key): key.name ?? id
        case .user(let name, _): name
        case .node: "node"
        case .nobody(let address): address.description
        }
    }

    /// The names that a key is limited to; nil for a key without limits.
    package var limits: NameLimits? { if case .key(_, let key) = self { key.limits } else { nil } }

    /// Whether it is a server key that has a scope.
    package func may(_ scope: KeyScope) -> Bool {
        if case .key(_, let key) = self { key.scopes.contains(scope) } else { false }
    }

    /// What rate limits count by.
    var account: String {
        switch self {
        case .key(let id, _): "key \(id)"
        case .user(let name, _): "user \(name)"
        case .node: "node"
        case .nobody(let address): "address \(address)"
        }
    }
}

/// Who may use a route.
package struct Access: Sendable {
    /// `Authorization: Bearer`, out of a header of the form that a route's clients send.
    package var bearer: @Sendable (String) -> String = { $0 }
    /// The scope that a server key needs; nil when no key may.
    package var key: KeyScope?
    /// The scope that the token of the path's user needs; nil when no token may.
    package var user: TokenScope?
    /// Any valid credentials will do.
    package var any = false
    /// No credentials are asked for.
    package var isOpen = false
    /// It does not count for rate limits.
    var isFree = false
    /// A token may concern any user.
    var isAnyUser = false
    /// Other nodes of the cluster call it (``NodePass``).
    var isForNodes = false

    package static let open = Access(isOpen: true)
    package static let free = Access(isOpen: true, isFree: true)
    package static let anybody = Access(any: true)
    package static let node = Access(isForNodes: true)
    package static func key(_ scope: KeyScope) -> Access { Access(key: scope) }
    package static let reading = Access(key: .users, user: .read)
    static let writing = Access(key: .users, user: .write)

    /// - Throws: ``Problem`` 401, 403.
    package func check(_ caller: Caller?, user name: String?) throws(Problem) {
        guard !isOpen else { return }
        guard let caller else { throw .unauthorized("tokenMissing", "credentials are missing") }
        if case .node = caller {
            guard isForNodes else { throw .forbidden("missingScope", "a node cannot do this") }
            return
        }
        guard !any else { return }
        switch caller {
        case .key:
            guard let key else { throw .forbidden("missingScope", "a server key cannot do this") }
            guard caller.may(key) else {
                throw .forbidden("missingScope", "the key lacks the scope \(key.rawValue)")
            }
        case .user(let owner, let scopes):
            guard let user else { throw .forbidden("missingScope", "a user's token cannot do this") }
            guard scopes.contains(user) else {
                throw .forbidden("missingScope", "the token lacks the scope \(user.rawValue)")
            }
            guard isAnyUser || name.map({ $0.utf8.elementsEqual(owner.utf8) }) ?? false else {
                throw .forbidden("otherUser", "the token is another user's")
            }
        case .node, .nobody: throw .unauthorized("tokenMissing", "credentials are missing")
        }
    }
}

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

extension ServerKeys.Key {
    package enum SignInFault: Sendable {
        /// It has no scope that a page asks for.
        case noScope
        /// It is limited to some names, and pages show all.
        case limited
    }

    /// Why the key cannot sign in to pages; nil for one that can.
    package var signInFault: SignInFault? {
        scopes.isDisjoint(with: [.users, .audit, .admin]) ? .noScope : limits == nil ? nil : .limited
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
            guard case .seq(let seq) = item,
                let event = try? await store.log.events(from: seq, limit: 1).elements.first,
                event.seq == seq, case .broadcast(let topic, _) = event.body, limits.admits(topic: topic)
            else { throw .outsidePrefix("the item is not in one of the key's topics") }
        default: guard command.user != nil else { throw .outsidePrefix("the command has no user") }
        }
    }
}
