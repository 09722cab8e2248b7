import Foundation
import Hummingbird
@_spi(Replication) @_spi(Wire) import Traylog

/// Tokens for users, made by the server.
enum TokenRoutes {
    private static let usualLife = 3_600

    static var all: [Route] {
        [
            Route(
                .get, "/v1/users/me", as: "getIdentity", "Whose the token is", .anybody, origins: .allowed,
                partition: .any, answers: .json(.identity), refusals: []
            ) { call in
                guard case .user(let user, let scopes)? = call.caller else {
                    throw Problem.forbidden(
                        "missingScope", "a server key belongs to no user: name the user in the path instead of 'me'")
                }
                let expires = call.credential.expiresAt.map { Timestamp(milliseconds: Int64($0 * 1_000)) }
                return .json([
                    "user": .string(user),
                    "scopes": .array(TokenScope.allCases.filter(scopes.contains).map { .string($0.rawValue) }),
                    "expires": expires.map { .string($0.description) } ?? .null,
                ])
            },
            Route(
                .post, "/v1/tokens", as: "makeToken", "Make a token for a user", .key(.users), origins: .allowed,
                body: .object(["user", "ttl", "scope"]),
                required: ["user"], partition: .any, node: .each, takesLimitedKeys: true, answers: .json(.token),
                refusals: [422]
            ) { call in
                let members = try await call.members(["user", "ttl", "scope"])
                guard let user = members["user"]?.string else { throw Problem.invalid("user", "must be a string") }
                try call.limits?.check(user: user)
                // Refuses what is no user's name.
                _ = try await call.store.version(of: user)
                var ttl = usualLife
                if let value = members["ttl"] {
                    guard let seconds = value.integer?.within(1...UserTokens.longestLife) else {
                        throw Problem.invalid("ttl", "must be 1 to \(UserTokens.longestLife) seconds")
                    }
                    ttl = seconds
                }
                let scope = try scope(members["scope"])
                if scope?.split(separator: " ").contains("publish") ?? false {
                    guard call.caller?.may(.publish) ?? false else {
                        throw Problem.forbidden(
                            "missingScope", "the key lacks the scope publish, so its tokens cannot have it")
                    }
                    guard call.limits == nil else {
                        throw Problem.outsidePrefix(
                            "a token with the scope publish may notify anybody, and the key may not")
                    }
                }
                guard let made = try await call.service.authenticator.sign(user: user, ttl: ttl, scope: scope) else {
                    throw Problem(
                        .unprocessableContent, "No key",
                        "the server has no key that can sign tokens: start it with --user-token-key FILE")
                }
                let expires = Timestamp(milliseconds: Int64(made.expires) * 1_000)
                return .json(["token": .string(made.token), "expires": .string(expires.description)])
            },
        ]
    }

    private static func scope(_ value: JSONValue?) throws -> String? {
        guard let value else { return nil }
        guard let text = value.string, text.contains(where: { $0 != " " }),
            text.split(separator: " ").allSatisfy({ TokenScope(rawValue: String($0)) != nil })
        else {
            throw Problem.invalid("scope", "must be of \(TokenScope.allCases.map(\.rawValue).joined(separator: " "))")
        }
        return text
    }
}
