import Crypto
import Foundation
import JWTKit

/// A key that checks users' tokens, as open answers remember it: another one may have its `kid` after a reload.
package struct TokenKey: Hashable, Sendable {
    fileprivate let kid: String
    fileprivate let digest: [UInt8]
}

/// The keys that sign users' tokens: JWTs (RFC 7519) whose algorithm the key decides, never the token.
struct UserTokens: Sendable {
    /// The claims of a token that the server makes.
    private struct Claims: JWTPayload {
        var sub: String
        var aud = UserTokens.audience
        var iat: Int
        var exp: Int
        var scope: String?

        /// The server reads tokens by itself.
        func verify(using _: some JWTAlgorithm) {}
    }

    private static let audience = "traylog"
    /// A token's header has three short members.
    private static let longestHeader = 1_024

    /// Signs tokens.
    ///
    /// It would take another key for a `kid` that it does not know, so it checks none.
    private let signing = JWTKeyCollection()
    /// The keys that check tokens, by `kid`.
    private var algorithms: [String: (key: TokenKey, algorithm: any JWTAlgorithm)] = [:]
    /// The first key that can sign.
    private var signer: JWKIdentifier?

    static let longestLife = 24 * 3_600

    init() {}

    /// - Parameters:
    ///   - files: with a JWK each. The first that can sign signs.
    ///   - secret: one that was made at the start; nil for none.
    /// - Throws: ``ConfigurationError``.
    init(files: [String], secret: [UInt8]? = nil) async throws {
        for file in files {
            guard let bytes = FileManager.default.contents(atPath: file) else {
                throw ConfigurationError("\(file) cannot be read")
            }
            try await add(jwk: Array(bytes))
        }
        if let secret { try await add(secret: secret, kid: "dev") }
    }

    /// Adds a secret for HS256.
    mutating func add(secret: [UInt8], kid: String) async throws {
        let identifier = JWKIdentifier(string: kid)
        await signing.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: identifier)
        try await know(identifier, of: secret)
        if signer == nil { signer = identifier }
    }

    var count: Int { algorithms.count }

    func has(_ key: TokenKey) -> Bool { algorithms[key.kid]?.key == key }

    private mutating func know(_ identifier: JWKIdentifier, of bytes: [UInt8]) async throws {
        let key = TokenKey(kid: identifier.string, digest: Array(SHA256.hash(data: bytes)))
        algorithms[key.kid] = (key, try await signing.getKey(for: identifier))
    }

    /// Adds a JWK (RFC 7517) with `kid` and `alg`.
    mutating func add(jwk bytes: [UInt8]) async throws {
        guard let members = try? JSONValue(json: bytes) else {
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
            try await know(identifier, of: bytes)
        } catch {
            throw ConfigurationError("the key \(kid) is no key of \(curve ?? ""): its x, y or d is wrong")
        }
        if signer == nil, members["d"] != nil { signer = identifier }
    }

    /// Checks a token and finds its user; ``Authenticator`` checks whether it has expired, as it does for streams that are open.
    ///
    /// - Throws: ``Problem`` 401, which says why.
    func caller(
        presenting token: String, now: Date = Date()
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        // Anybody can send this. Until the signature is checked, no library reads any of it but the bytes that were signed.
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Substring.init)
        guard parts.count == 3, parts[0].utf8.count <= Self.longestHeader, let header = Self.members(parts[0]),
            let signature = [UInt8](base64URL: parts[2])
        else { throw .unauthorized("tokenMalformed", "the token is malformed") }
        guard header["crit"] == nil, let kid = header["kid"]?.string, let (key, algorithm) = algorithms[kid],
            header["alg"]?.string == algorithm.name,
            (try? algorithm.verify(signature, signs: Array(token.utf8[..<parts[1].endIndex]))) == true
        else { throw .unauthorized("tokenMalformed", "the token is not signed by a key that this server knows") }
        guard let claims = Self.members(parts[1]) else {
            throw .unauthorized("tokenMalformed", "the token's claims are no JSON object")
        }
        return try Self.caller(claims, signedBy: key, now.timeIntervalSince1970)
    }

    /// A JSON object in base64url; nil for anything else.
    private static func members(_ text: Substring) -> JSONValue? {
        guard let bytes = [UInt8](base64URL: text), let value = try? JSONValue(json: bytes), case .object = value
        else { return nil }
        return value
    }

    private static func caller(
        _ claims: JSONValue, signedBy key: TokenKey, _ now: Double
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        guard let issued = claims["iat"]?.seconds, let expires = claims["exp"]?.seconds, expires > issued,
            expires - issued <= Double(longestLife)
        else { throw .unauthorized("tokenMalformed", "the token must have iat, and exp at most 24 hours later") }
        // Clocks differ a little.
        let begins = claims["nbf"].map { $0.seconds ?? .infinity } ?? 0
        guard issued <= now + 60, begins <= now + 60 else {
            throw .unauthorized("tokenMalformed", "the token is not valid yet")
        }
        // One audience or several.
        guard let given = claims["aud"], (given.array ?? [given]).contains(where: { $0.string == audience }) else {
            throw .unauthorized("tokenMalformed", "the token's aud is not traylog")
        }
        guard let user = claims["sub"]?.string, !user.isEmpty else {
            throw .unauthorized("tokenMalformed", "the token has no sub")
        }
        let credential = Credential.token(user: user, key, issuedAt: issued, expiresAt: expires)
        guard let given = claims["scope"], given != .null else {
            return (.user(user, scopes: [.read, .write]), credential)
        }
        guard let scope = given.string else {
            throw .unauthorized("tokenMalformed", "the token's scope is no text")
        }
        let scopes = Set(scope.split(separator: " ").compactMap { TokenScope(rawValue: String($0)) })
        return (.user(user, scopes: scopes), credential)
    }

    /// A token for a user; nil when no key can sign.
    func sign(
        user: String, issuedAt issued: Int, ttl: Int, scope: String?
    ) async throws -> (token: String, expires: Int)? {
        guard let signer else { return nil }
        let claims = Claims(sub: user, iat: issued, exp: issued + ttl, scope: scope)
        return (try await signing.sign(claims, kid: signer), issued + ttl)
    }
}

extension JSONValue {
    /// Seconds since 1970 as tokens have them, perhaps with a fraction; nil for other values, and far from this era.
    ///
    /// Within these bounds sums are exact enough, and whole seconds fit any integer.
    fileprivate var seconds: Double? {
        guard case .number(let digits) = self, let seconds = Double(digits), (0...Self.latest).contains(seconds) else {
            return nil
        }
        return seconds
    }

    /// The end of the year 9999.
    private static let latest: Double = 253_402_300_799
}
