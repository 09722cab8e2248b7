import Crypto
import Foundation
import JWTKit

/// The keys that sign users' tokens: JWTs (RFC 7519) whose algorithm the key decides, never the token.
struct UserTokens: Sendable {
    /// The claims that the server reads; a token may have others.
    private struct Claims: JWTPayload {
        var sub: String?
        var aud: Audience?
        var iat: Double?
        var exp: Double?
        var nbf: Double?
        var scope: String?

        /// The signature is checked before, and the time by ``UserTokens/caller(_:_:)``, which says what is wrong.
        func verify(using _: some JWTAlgorithm) {}
    }

    /// One audience or several.
    private struct Audience: Codable {
        let values: [String]

        init(_ value: String) { values = [value] }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(String.self) {
                values = [value]
            } else {
                values = try container.decode([String].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(values[0])
        }
    }

    /// Signs tokens.
    ///
    /// It would take another key for a `kid` that it does not know, so it checks none.
    private let signing = JWTKeyCollection()
    /// The keys that check tokens, by `kid`.
    private var algorithms: [String: any JWTAlgorithm] = [:]
    /// The first key that can sign.
    private var signer: JWKIdentifier?

    static let longestLife = 24 * 3_600

    /// Adds a secret for HS256.
    mutating func add(secret: [UInt8], kid: String) async throws {
        let identifier = JWKIdentifier(string: kid)
        await signing.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: identifier)
        algorithms[kid] = try await signing.getKey(for: identifier)
        if signer == nil { signer = identifier }
    }

    /// Adds a JWK (RFC 7517) with `kid` and `alg`.
    mutating func add(jwk bytes: [UInt8]) async throws {
        guard let members = try? JSONParser.value(bytes) else {
            throw ConfigurationError("a key for user tokens is no JSON")
        }
        guard let kid = members["kid"]?.string, !kid.isEmpty, algorithms[kid] == nil else {
            throw ConfigurationError("a key for user tokens needs a kid of its own")
        }
        let curve = members["crv"]?.string
        switch (members["alg"]?.string, members["kty"]?.string) {
        case ("HS256", "oct"):
            guard let secret = members["k"]?.string.flatMap({ [UInt8](base64URL: $0) }), secret.count >= 32 else {
                throw ConfigurationError("the key \(kid) must have 32 bytes or more in k")
            }
            return try await add(secret: secret, kid: kid)
        case ("ES256", "EC"):
            guard curve == "P-256", members["x"]?.string != nil, members["y"]?.string != nil else {
                throw ConfigurationError("the key \(kid) must have crv P-256, x and y")
            }
        case ("EdDSA", "OKP"):
            guard curve == "Ed25519", members["x"]?.string != nil else {
                throw ConfigurationError("the key \(kid) must have crv Ed25519 and x")
            }
        default:
            throw ConfigurationError("the key \(kid) must have alg HS256, ES256 or EdDSA and the kty that goes with it")
        }
        let identifier = JWKIdentifier(string: kid)
        do {
            try await signing.add(jwk: JSONDecoder().decode(JWK.self, from: Data(bytes)))
            algorithms[kid] = try await signing.getKey(for: identifier)
        } catch {
            throw ConfigurationError("the key \(kid) is no key of \(curve ?? ""): its x, y or d is wrong")
        }
        if signer == nil, members["d"] != nil { signer = identifier }
    }

    /// Checks a token and finds its user.
    ///
    /// - Throws: ``Problem`` 401, which says why.
    func caller(
        presenting token: String, now: Date = Date()
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        guard let parsed = try? DefaultJWTParser().parse(Array(token.utf8), as: Claims.self) else {
            throw .unauthorized("tokenMalformed", "the token is malformed")
        }
        guard parsed.header.fields["crit"] == nil, let kid = parsed.header.kid, let key = algorithms[kid],
            parsed.header.alg == key.name, let end = token.utf8.lastIndex(of: UInt8(ascii: ".")),
            (try? key.verify(parsed.signature, signs: Array(token.utf8[..<end]))) == true
        else { throw .unauthorized("tokenMalformed", "the token is not signed by a key that this server knows") }
        return try Self.caller(parsed.payload, now.timeIntervalSince1970)
    }

    private static func caller(
        _ claims: Claims, _ now: Double
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        guard let issued = claims.iat, let expires = claims.exp, expires > issued,
            expires - issued <= Double(longestLife)
        else { throw .unauthorized("tokenMalformed", "the token must have iat, and exp at most 24 hours later") }
        guard now < expires else { throw EndReason.tokenExpired.problem }
        // Clocks differ a little.
        guard issued <= now + 60, claims.nbf.map({ $0 <= now + 60 }) ?? true else {
            throw .unauthorized("tokenMalformed", "the token is not valid yet")
        }
        guard claims.aud?.values.contains("traylog") ?? false else {
            throw .unauthorized("tokenMalformed", "the token's aud is not traylog")
        }
        guard let user = claims.sub, !user.isEmpty else {
            throw .unauthorized("tokenMalformed", "the token has no sub")
        }
        let credential = Credential.token(user: user, issuedAt: issued, expiresAt: expires)
        guard let scope = claims.scope else { return (.user(user, scopes: [.read, .write]), credential) }
        let scopes = Set(scope.split(separator: " ").compactMap { TokenScope(rawValue: String($0)) })
        return (.user(user, scopes: scopes), credential)
    }

    /// A token for a user; nil when no key can sign.
    func sign(
        user: String, issuedAt issued: Int, ttl: Int, scope: String?
    ) async throws -> (token: String, expires: Int)? {
        guard let signer else { return nil }
        let claims = Claims(
            sub: user, aud: Audience("traylog"), iat: Double(issued), exp: Double(issued + ttl), scope: scope)
        return (try await signing.sign(claims, kid: signer), issued + ttl)
    }
}
