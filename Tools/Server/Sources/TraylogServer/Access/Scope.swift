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
    /// How credentials are sent.
    package enum Scheme: Sendable {
        /// `Authorization: Bearer`, with a server key or a user's token.
        case bearer
        /// The same, or the key alone or after `ApiKey`, as Novu's clients send it.
        case novu
    }

    package var scheme = Scheme.bearer
    /// The scope that a server key needs; nil when no key may.
    package var key: KeyScope?
    /// The scope that the token of the path's user needs; nil when no token may.
    package var user: TokenScope?
    /// Any valid credentials will do.
    package var any = false
    /// No credentials are asked for.
    var isOpen = false
    /// It does not count for rate limits.
    var isFree = false
    /// A token may concern any user.
    var isAnyUser = false
    /// Other nodes of the cluster call it (``NodePass``).
    var isForNodes = false

    package static let open = Access(isOpen: true)
    package static let free = Access(isOpen: true, isFree: true)
    static let anybody = Access(any: true)
    package static let node = Access(isForNodes: true)
    package static func novu(_ scope: KeyScope) -> Access { Access(scheme: .novu, key: scope) }
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
        case .key(_, let given):
            guard let key else { throw .forbidden("missingScope", "a server key cannot do this") }
            guard given.scopes.contains(key) else {
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
