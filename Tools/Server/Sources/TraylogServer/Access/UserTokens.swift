import Crypto
import Foundation

/// The keys that sign users' tokens: JWTs (RFC 7519) whose algorithm the key decides, never the token.
struct UserTokens: Sendable {
    private enum Key: Sendable {
        case hs256(SymmetricKey)
        case es256(P256.Signing.PublicKey)
        case eddsa(Curve25519.Signing.PublicKey)

        var algorithm: String {
            switch self {
            case .hs256: "HS256"
            case .es256: "ES256"
            case .eddsa: "EdDSA"
            }
        }

        func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
            switch self {
            case .hs256(let key):
                HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: message, using: key)
            case .es256(let key):
                (try? P256.Signing.ECDSASignature(rawRepresentation: signature)).map {
                    key.isValidSignature($0, for: message)
                } ?? false
            case .eddsa(let key):
                key.isValidSignature(signature, for: message)
            }
        }
    }

    private enum SigningKey: Sendable {
        case hs256(SymmetricKey)
        case es256(P256.Signing.PrivateKey)
        case eddsa(Curve25519.Signing.PrivateKey)
    }

    private var keys: [String: Key] = [:]
    /// The first key that can sign.
    private var signer: (kid: String, algorithm: String, key: SigningKey)?

    package var isEmpty: Bool { keys.isEmpty }
    static let longestLife = 24 * 3_600

    /// Adds a secret for HS256.
    package mutating func add(secret: [UInt8], kid: String) {
        let key = SymmetricKey(data: secret)
        keys[kid] = .hs256(key)
        if signer == nil { signer = (kid, "HS256", .hs256(key)) }
    }

    /// Adds a JWK (RFC 7517) with `kid` and `alg`.
    package mutating func add(jwk bytes: [UInt8]) throws {
        guard let jwk = try? JSONParser.value(bytes) else {
            throw ConfigurationError("a key for user tokens is no JSON")
        }
        guard let kid = jwk["kid"]?.string, !kid.isEmpty, keys[kid] == nil else {
            throw ConfigurationError("a key for user tokens needs a kid of its own")
        }
        func member(_ name: String) -> [UInt8]? { jwk[name]?.string.flatMap { [UInt8](base64URL: $0) } }
        switch (jwk["alg"]?.string, jwk["kty"]?.string) {
        case ("HS256", "oct"):
            guard let secret = member("k"), secret.count >= 32 else {
                throw ConfigurationError("the key \(kid) must have 32 bytes or more in k")
            }
            add(secret: secret, kid: kid)
        case ("ES256", "EC"):
            guard jwk["crv"]?.string == "P-256", let x = member("x"), let y = member("y") else {
                throw ConfigurationError("the key \(kid) must have crv P-256, x and y")
            }
            guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y) else {
                throw ConfigurationError("the key \(kid) is no point of P-256")
            }
            keys[kid] = .es256(key)
            if signer == nil, let d = member("d") {
                signer = (kid, "ES256", .es256(try P256.Signing.PrivateKey(rawRepresentation: d)))
            }
        case ("EdDSA", "OKP"):
            guard jwk["crv"]?.string == "Ed25519", let x = member("x") else {
                throw ConfigurationError("the key \(kid) must have crv Ed25519 and x")
            }
            guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
                throw ConfigurationError("the key \(kid) must have 32 bytes in x")
            }
            keys[kid] = .eddsa(key)
            if signer == nil, let d = member("d") {
                signer = (kid, "EdDSA", .eddsa(try Curve25519.Signing.PrivateKey(rawRepresentation: d)))
            }
        default:
            throw ConfigurationError("the key \(kid) must have alg HS256, ES256 or EdDSA and the kty that goes with it")
        }
    }

    /// Whose a token is.
    ///
    /// - Throws: ``Problem`` 401, which says why.
    package func caller(
        presenting token: String, now: Date = Date()
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = [UInt8](base64URL: parts[0]), let body = [UInt8](base64URL: parts[1]),
            let signature = [UInt8](base64URL: parts[2]), let header = try? JSONParser.value(head)
        else { throw .unauthorized("tokenMalformed", "the token is malformed") }
        guard header["crit"] == nil, let kid = header["kid"]?.string, let key = keys[kid],
            header["alg"]?.string == key.algorithm,
            key.isValid(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
        else { throw .unauthorized("tokenMalformed", "the token is not signed by a key that this server knows") }
        guard let claims = try? JSONParser.value(body) else {
            throw .unauthorized("tokenMalformed", "the token is malformed")
        }
        return try Self.caller(claims, now.timeIntervalSince1970)
    }

    private static func caller(
        _ claims: JSONValue, _ now: Double
    ) throws(Problem) -> (caller: Caller, credential: Credential) {
        func time(_ name: String) -> Double? {
            if case .number(let text)? = claims[name] { Double(text) } else { nil }
        }
        guard let issued = time("iat"), let expires = time("exp"), expires > issued,
            expires - issued <= Double(longestLife)
        else { throw .unauthorized("tokenMalformed", "the token must have iat, and exp at most 24 hours later") }
        guard now < expires else { throw EndReason.tokenExpired.problem }
        // Clocks differ a little.
        guard issued <= now + 60, time("nbf").map({ $0 <= now + 60 }) ?? true else {
            throw .unauthorized("tokenMalformed", "the token is not valid yet")
        }
        let audiences = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string].compactMap(\.self)
        guard audiences.contains("traylog") else {
            throw .unauthorized("tokenMalformed", "the token's aud is not traylog")
        }
        guard let user = claims["sub"]?.string, !user.isEmpty else {
            throw .unauthorized("tokenMalformed", "the token has no sub")
        }
        let credential = Credential.token(user: user, issuedAt: issued, expiresAt: expires)
        guard let scope = claims["scope"] else { return (.user(user, scopes: [.read, .write]), credential) }
        guard let text = scope.string else {
            throw .unauthorized("tokenMalformed", "the token's scope is not a string")
        }
        let scopes = Set(text.split(separator: " ").compactMap { TokenScope(rawValue: String($0)) })
        return (.user(user, scopes: scopes), credential)
    }

    /// A token for a user; nil when no key can sign.
    func sign(
        user: String, issuedAt issued: Int, ttl: Int, scope: String?
    ) throws -> (token: String, expires: Int)? {
        guard let signer else { return nil }
        let header: JSONValue = ["alg": .string(signer.algorithm), "kid": .string(signer.kid), "typ": "JWT"]
        var claims: [(name: String, value: JSONValue)] = [
            ("sub", .string(user)), ("aud", "traylog"), ("iat", .int(issued)), ("exp", .int(issued + ttl)),
        ]
        if let scope { claims.append(("scope", .string(scope))) }
        let message = "\(header.bytes.base64URL).\(JSONValue.object(claims).bytes.base64URL)"
        let bytes = Array(message.utf8)
        let signature: [UInt8] =
            switch signer.key {
            case .hs256(let key): Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
            case .es256(let key): Array(try key.signature(for: bytes).rawRepresentation)
            case .eddsa(let key): Array(try key.signature(for: bytes))
            }
        return ("\(message).\(signature.base64URL)", issued + ttl)
    }
}
