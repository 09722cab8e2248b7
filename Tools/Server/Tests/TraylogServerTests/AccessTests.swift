import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import TraylogServer

struct AccessTests {
    private static let now = Int(Date().timeIntervalSince1970)

    /// Tokens that are refused, by what is wrong with them.
    private static let refused: [(fault: String, token: String, code: String)] = [
        ("no expiry", ServedStore.token(claims: ["exp": .null]), "tokenMalformed"),
        ("expired", ServedStore.token(claims: ["iat": .int(now - 100), "exp": .int(now - 1)]), "tokenExpired"),
        ("too long a life", ServedStore.token(claims: ["exp": .int(now + 90_000)]), "tokenMalformed"),
        ("no time of issue", ServedStore.token(claims: ["iat": .null]), "tokenMalformed"),
        (
            "issued in the future", ServedStore.token(claims: ["iat": .int(now + 3_600), "exp": .int(now + 3_700)]),
            "tokenMalformed"
        ),
        ("not valid yet", ServedStore.token(claims: ["nbf": .int(now + 300)]), "tokenMalformed"),
        ("another audience", ServedStore.token(claims: ["aud": "other"]), "tokenMalformed"),
        ("no audience", ServedStore.token(claims: ["aud": .null]), "tokenMalformed"),
        ("no subject", ServedStore.token(claims: ["sub": .null]), "tokenMalformed"),
        ("an empty subject", ServedStore.token(claims: ["sub": ""]), "tokenMalformed"),
        ("a scope that is no string", ServedStore.token(claims: ["scope": ["inbox:read"]]), "tokenMalformed"),
        ("an expiry that is a string", ServedStore.token(claims: ["exp": .string("\(now + 60)")]), "tokenMalformed"),
        ("another secret", ServedStore.token(secret: Array(repeating: 8, count: 32)), "tokenMalformed"),
        ("alg none", ServedStore.token(header: ["alg": "none"]), "tokenMalformed"),
        ("another key's algorithm", ServedStore.token(header: ["alg": "ES256"]), "tokenMalformed"),
        ("another hash", ServedStore.token(header: ["alg": "HS512"]), "tokenMalformed"),
        ("an unknown key", ServedStore.token(header: ["kid": "other"]), "tokenMalformed"),
        ("no key", ServedStore.token(header: ["kid": .null]), "tokenMalformed"),
        ("a critical extension", ServedStore.token(header: ["crit": ["exp"]]), "tokenMalformed"),
        ("a longer signature", ServedStore.token() + "x", "tokenMalformed"),
        (
            "no signature", String(ServedStore.token().prefix { _ in true }.split(separator: ".")[0]) + ".e30.",
            "tokenMalformed"
        ),
        ("two parts", "a.b", "tokenMalformed"), ("three parts that are no JSON", "a.b.c", "tokenMalformed"),
        ("a key that is unknown", "tlk_a_b", "keyUnknown"),
    ]

    @Test func everyFaultOfATokenIsRefusedWithItsCode() async throws {
        try await ServedStore.with { store async throws in
            for (fault, token, code) in Self.refused {
                let answer = try await store.send(.get, "/v1/users/ann/tray", as: token)
                #expect(answer.status == .unauthorized, "\(fault)")
                #expect(try answer.json["error"]?.string == code, "\(fault)")
                #expect(try answer.json["type"]?.string == "urn:traylog:problem:\(code)", "\(fault)")
                #expect(answer.headers[.wwwAuthenticate]?.contains("error=\"\(code)\"") == true, "\(fault)")
            }
            let missing = try await store.send(.get, "/v1/users/ann/tray", as: .some(nil))
            #expect(missing.status == .unauthorized)
            #expect(try missing.json["error"]?.string == "tokenMissing")
        }
    }

    @Test func aTokenOpensItsOwnersTrayAndNobodyElses() async throws {
        try await ServedStore.with { store async throws in
            for audience: JSONValue in ["traylog", ["other", "traylog"]] {
                let token = ServedStore.token(claims: ["aud": audience])
                let own = try await store.send(.get, "/v1/users/ann/tray", as: token)
                #expect(own.status == .ok)
                let me = try await store.send(.get, "/v1/users/me/tray", as: token)
                #expect(try me.json["user"]?.string == "ann")
            }
            let other = try await store.send(.get, "/v1/users/bob/tray", as: ServedStore.token())
            #expect(other.status == .forbidden)
            #expect(try other.json["error"]?.string == "otherUser")
            let reader = ServedStore.token(claims: ["scope": "inbox:read"])
            let written = try await store.send(.post, "/v1/users/ann/seen", as: reader, #"{"upTo":0}"#)
            #expect(written.status == .forbidden)
            #expect(try written.json["error"]?.string == "missingScope")
        }
    }

    @Test func aTokenThatTheServerMakesWorksWithinItsLimits() async throws {
        try await ServedStore.with { store async throws in
            let made = try await store.send(.post, "/v1/tokens", #"{"user":"ann","ttl":60,"scope":"inbox:read"}"#).json
            let token = try #require(made["token"]?.string)
            #expect(try await store.send(.get, "/v1/users/ann/tray", as: token).status == .ok)
            let identity = try await store.send(.get, "/v1/users/me", as: token).json
            #expect(identity["user"]?.string == "ann")
            #expect(identity["scopes"]?.array?.compactMap(\.string) == ["inbox:read"])
            for body in [
                #"{"user":""}"#, "{}", #"{"user":"a","ttl":0}"#, #"{"user":"a","ttl":90000}"#,
                #"{"user":"a","scope":"x"}"#, #"{"user":"a","more":1}"#, #"{"user":"a\n"}"#, "[]",
            ] {
                #expect(try await store.send(.post, "/v1/tokens", body).status == .badRequest, "\(body)")
            }
        }
    }
}
