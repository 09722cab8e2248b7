import Foundation
import HTTPTypes
import Synchronization
import Traylog

/// What an answer rests on: the credentials of its request.
///
/// They are checked when the request comes, and again as long as its answer waits or goes on.
package enum Credential: Sendable {
    /// The route asks for none.
    case none
    /// Another node of the cluster, whose pass holds for a body of this digest alone.
    case node(bodyDigest: String)
    case token(user: String, TokenKey, issuedAt: Double, expiresAt: Double)
    case key(id: String, ServerKeys.Key)
    /// A session of the browser's, with the key that signed in.
    case session(token: String, id: String, ServerKeys.Key)

    /// When it ends by itself; nil for one that does not.
    package var expiresAt: Double? { if case .token(_, _, _, let time) = self { time } else { nil } }
}

/// Why an answer that waits or goes on ends; what `event: end` says.
enum EndReason: String, CaseIterable, Sendable {
    /// The server stops.
    case closing
    /// The token's `exp` has come.
    case tokenExpired
    /// The token was issued before its user was erased.
    case tokenRevoked
    /// The key is no longer in the keys file, or has other scopes there; or the JWK that checked the token is gone.
    case keyRemoved
    /// The session is over.
    case signedOut
    /// The person whose tray or changes these are was erased.
    case erased

    /// The same as the answer to a request.
    var problem: Problem {
        switch self {
        case .closing: .unavailable("the server is closing")
        case .tokenExpired: .unauthorized("tokenExpired", "the token has expired")
        case .tokenRevoked:
            .unauthorized("tokenRevoked", "the token was issued before its user was erased: ask for a new one")
        case .keyRemoved: .unauthorized("keyUnknown", "the key is not known, or may do something else now")
        case .signedOut: .unauthorized("tokenMissing", "the session is over: sign in again")
        case .erased: Problem(.gone, "Gone", "the person was erased", error: "erased")
        }
    }
}

/// Knows whose credentials are valid now: the one place that says what a request, or an answer that goes on, stands on.
package final class Authenticator: Sendable {
    /// Who is signed in to pages.
    package let sessions = Sessions()
    private let keys: Mutex<ServerKeys>
    /// Of this process alone: no file has them, and no reload takes them away.
    private let own: ServerKeys?
    private let userTokens: Mutex<UserTokens>
    /// Where users are erased.
    private let stores = Mutex<[Store]>([])
    private let map: PartitionMap

    init(keys: ServerKeys, own: ServerKeys? = nil, tokens: UserTokens, map: PartitionMap) {
        self.keys = Mutex(keys)
        self.own = own
        userTokens = Mutex(tokens)
        self.map = map
    }

    /// Looks at these for erasures from now on: the stores of all partitions, in order.
    func watch(_ stores: [Store]) { self.stores.withLock { $0 = stores } }

    /// Puts other keys in the place of those that are known.
    func replace(_ keys: ServerKeys) { self.keys.withLock { $0 = keys } }

    /// The same for the keys of users' tokens.
    func replace(_ tokens: UserTokens) { userTokens.withLock { $0 = tokens } }

    private var tokens: UserTokens { userTokens.withLock { $0 } }

    /// The caller with a key; nil for an unknown key.
    package func caller(presentingKey key: String) -> (caller: Caller, credential: Credential)? {
        (own?.find(key) ?? keys.withLock { $0.find(key) }).map { id, key in (.key(id: id, key), .key(id: id, key)) }
    }

    /// The caller with this `Authorization` header.
    ///
    /// - Throws: ``Problem`` 401, which says why.
    func caller(
        presenting field: String?
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        guard let field else { throw .unauthorized("tokenMissing", "credentials are missing") }
        let parts = field.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).lowercased() == "bearer" else {
            throw .unauthorized("tokenMalformed", "credentials must be a bearer token")
        }
        // RFC 9110, section 11.4: one space or more.
        let token = String(Substring(parts[1].drop { $0 == UInt8(ascii: " ") }))
        if token.hasPrefix("tlk_") {
            guard let found = caller(presentingKey: token) else {
                throw .unauthorized("keyUnknown", "the key is not known")
            }
            return found
        }
        let (caller, credential) = try tokens.caller(presenting: token)
        try check(credential)
        return (caller, credential)
    }

    /// - Throws: ``Problem`` 401 for credentials that no longer hold.
    package func check(_ credential: Credential) throws(Problem) {
        if let reason = fault(of: credential) { throw reason.problem }
    }

    /// Why credentials no longer hold; nil as long as they do.
    func fault(of credential: Credential, now: Date = Date()) -> EndReason? {
        switch credential {
        case .none, .node: nil
        case .token(let user, let key, let issuedAt, let expiresAt):
            if !tokens.has(key) {
                .keyRemoved
            } else if now.timeIntervalSince1970 >= expiresAt {
                .tokenExpired
            } else if let erasedAt = lastErasure(of: user), Self.isIssued(issuedAt, by: erasedAt) {
                .tokenRevoked
            } else {
                nil
            }
        case .key(let id, let key):
            own?.has(key, id) ?? false || keys.withLock { $0.has(key, id) } ? nil : .keyRemoved
        case .session(let token, let id, let key):
            !sessions.isOpen(token, now: now) ? .signedOut : keys.withLock { $0.has(key, id) } ? nil : .keyRemoved
        }
    }

    /// Whether a token was issued before an erasure, or may have been.
    ///
    /// Most tokens say only the second: one from the second of the erasure counts as older.
    private static func isIssued(_ issuedAt: Double, by erasedAt: Timestamp) -> Bool {
        let erased = Double(erasedAt.milliseconds) / 1_000
        return issuedAt.rounded(.down) == issuedAt ? issuedAt <= erased.rounded(.down) : issuedAt <= erased
    }

    /// When somebody of this name was erased, if that is not long ago.
    func lastErasure(of user: String) -> Timestamp? {
        let stores = stores.withLock { $0 }
        guard !stores.isEmpty else { return nil }
        return stores[map.index(of: user)].lastErasure(of: user)
    }

    /// The session of a token, which is used thereby, with what its answers rest on; nil for one that is not known, or over.
    ///
    /// It ends with its key.
    package func session(_ token: String) -> (session: Sessions.Session, credential: Credential)? {
        guard let session = sessions.use(token) else { return nil }
        let credential = Credential.session(token: token, id: session.keyID, session.key)
        return fault(of: credential) == nil ? (session, credential) : nil
    }

    /// A token for a user; nil when no key can sign.
    ///
    /// One that is made in the second of an erasure says the next second, so that it is not taken for one of before.
    func sign(user: String, ttl: Int, scope: String?, now: Date = Date()) async throws -> (token: String, expires: Int)?
    {
        var issuedAt = Int(now.timeIntervalSince1970)
        if let erasedAt = lastErasure(of: user) { issuedAt = max(issuedAt, Int(erasedAt.milliseconds / 1_000) + 1) }
        return try await tokens.sign(user: user, issuedAt: issuedAt, ttl: ttl, scope: scope)
    }
}
