import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import TraylogServer
@testable import TraylogServerConsole

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

    /// A library would read such a header before anybody's signature was checked.
    @Test func nothingInAnUnsignedTokenEndsTheServer() async throws {
        let numbers = [
            "1e300", "-1e300", "9223372036854775808", "18446744073709551616", "99999999999999999999999999", "1.5", "-0",
            "1e-999",
        ]
        var headers: [String] = ["", "null", "[]", "1e300", "\u{feff}{}", String(repeating: "[", count: 5_000)]
        for number in numbers {
            for member in [
                "\"x\":\(number)", "\"x\":[\(number)]", "\"alg\":\(number)", "\"kid\":\(number)",
                "\"crit\":[\(number)]",
            ] {
                headers.append("{\"alg\":\"HS256\",\"kid\":\"test\",\(member)}")
            }
        }
        try await ServedStore.with { [headers] store async throws in
            for header in headers {
                for payload in ["{}", "{\"exp\":1e300,\"iat\":-1e300}", "[1e300]"] {
                    let token = [header, payload].map { Array($0.utf8).base64URL }.joined(separator: ".") + ".AAAA"
                    let answer = try await store.send(.get, "/v1/users/me", as: token)
                    #expect(answer.status == .unauthorized, "\(header)")
                }
            }
        }
    }

    @Test(arguments: ["1e300", "-1", "1e999", "18446744073709551616", "\"1\"", "null"])
    func timesOfASignedTokenThatAreFarFromThisEraAreRefused(time: String) async throws {
        try await ServedStore.with { store async throws in
            for claim in ["exp", "iat", "nbf"] where !(claim == "nbf" && time == "-1") {
                let claims = [claim: JSONValue.raw(Array(time.utf8))]
                let answer = try await store.send(.get, "/v1/users/me", as: ServedStore.token(claims: claims))
                #expect(answer.status == .unauthorized, "\(claim) \(time)")
            }
        }
    }

    @Test func credentialsMayStandBehindSeveralSpaces() async throws {
        try await ServedStore.with { store async throws in
            for space in [" ", "  ", "   "] {
                let answer = try await store.send(
                    .get, "/v1/users/me", as: .some(nil),
                    headers: [.authorization: "bearer\(space)\(ServedStore.token())"])
                #expect(answer.status == .ok)
            }
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

    @Test func keysOfEachAlgorithmCheckTheirOwnTokensAlone() async throws {
        let (curve, edwards) = (P256.Signing.PrivateKey(), Curve25519.Signing.PrivateKey())
        let point = Array(curve.publicKey.rawRepresentation)
        let jwks: [(alg: String, jwk: JSONValue)] = [
            (
                "ES256",
                [
                    "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "a",
                    "x": .string(Array(point[..<32]).base64URL), "y": .string(Array(point[32...]).base64URL),
                    "d": .string(Array(curve.rawRepresentation).base64URL),
                ]
            ),
            (
                "EdDSA",
                [
                    "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "a",
                    "x": .string(Array(edwards.publicKey.rawRepresentation).base64URL),
                    "d": .string(Array(edwards.rawRepresentation).base64URL),
                ]
            ),
        ]
        for (alg, jwk) in jwks {
            var tokens = UserTokens()
            try await tokens.add(jwk: jwk.bytes)
            let issued = Int(Date().timeIntervalSince1970)
            let made = try #require(try await tokens.sign(user: "ann", issuedAt: issued, ttl: 60, scope: nil))
            guard case .user("ann", scopes: [.read, .write]) = try tokens.caller(presenting: made.token).caller else {
                Issue.record("\(alg): the token is somebody else's")
                continue
            }
            let parts = made.token.split(separator: ".").map(String.init)
            let head = try JSONValue(json: try #require([UInt8](base64URL: parts[0])))
            #expect(head["alg"]?.string == alg)
            // What everybody knows of the key is no secret for another algorithm.
            let open = try #require(jwk["x"]?.string.flatMap { [UInt8](base64URL: $0) })
            for header: [String: JSONValue] in [
                ["kid": "a"], ["kid": "a", "alg": .string(alg)], ["kid": "b", "alg": "HS256"],
            ] {
                let forged = ServedStore.token(header: header, secret: open)
                #expect(throws: Problem.self, "\(alg)") { try tokens.caller(presenting: forged) }
            }
            let changed = "\(parts[0]).\(Array(#"{"sub":"bob"}"#.utf8).base64URL).\(parts[2])"
            #expect(throws: Problem.self, "\(alg)") { try tokens.caller(presenting: changed) }
        }
    }

    @Test func aKeyForTokensThatIsNoneIsRefusedByItsName() async throws {
        for (jwk, reason) in [
            ("{", "no JSON"), (#"{"alg":"HS256","kty":"oct"}"#, "kid"),
            (#"{"alg":"HS256","kty":"oct","kid":"a","k":"c2hvcnQ"}"#, "32 bytes"),
            (#"{"alg":"RS256","kty":"RSA","kid":"a"}"#, "alg HS256, ES256 or EdDSA"),
            (#"{"alg":"ES256","kty":"EC","crv":"P-384","kid":"a","x":"AA","y":"AA"}"#, "crv P-256"),
            (#"{"alg":"ES256","kty":"EC","crv":"P-256","kid":"a","x":"AA","y":"AA"}"#, "no key of P-256"),
            (#"{"alg":"EdDSA","kty":"OKP","crv":"Ed25519","kid":"a","x":"AA"}"#, "no key of Ed25519"),
        ] {
            var tokens = UserTokens()
            do {
                try await tokens.add(jwk: Array(jwk.utf8))
                Issue.record("\(jwk) was taken")
            } catch let error as ConfigurationError {
                #expect(error.description.contains(reason), "\(jwk)")
            }
        }
    }

    /// Makes a server know further keys, and returns them.
    private static func add(
        _ keys: [(scopes: [KeyScope], limits: NameLimits?)], to store: ServedStore
    ) throws -> [String] {
        var known = try ServerKeys(file: nil)
        let made = keys.map { ServerKeys.made(scopes: $0.scopes, limits: $0.limits) }
        for key in made { try known.add(line: key.line) }
        store.server.services[0].authenticator.replace(known)
        return made.map(\.key)
    }

    @Test func aKeyWithoutTheScopeOfARouteOrPageIsRefusedThere() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            let keys = try Self.add(
                KeyScope.allCases.map { scope in (KeyScope.allCases.filter { $0 != scope }, nil) }, to: store)
            for (scope, key) in zip(KeyScope.allCases, keys) {
                for route in store.server.responder.routes.routes where route.access.key == scope {
                    let path = route.path.text.replacing(#/\{[^}]*\}/#, with: "1")
                    let answer = try await store.send(route.method, path, as: key)
                    #expect(answer.status == .forbidden, "\(route.method) \(path)")
                    #expect(try answer.json["error"]?.string == "missingScope", "\(route.method) \(path)")
                }
                let visitor = try await ConsoleVisitor(store, key: key)
                // One that is live would have no end where it is opened by mistake.
                for route in store.server.responder.routes.routes
                where route.access.key == scope && route.method == .get && !route.isLive
                    && route.path.text.hasPrefix("/v1/")
                {
                    let path = route.path.text.replacing(#/\{[^}]*\}/#, with: "1").dropFirst("/v1/".count)
                    let answer = try await visitor.get("/console/data/\(path)")
                    #expect(answer.status == .forbidden, "what scripts read of \(path)")
                }
                for page in ConsolePage.all where page.route.access.key == scope {
                    let path = page.route.path.text.replacing(#/\{[^}]*\}/#, with: "1")
                    let answer = try await page.route.method == .get ? visitor.get(path) : visitor.send(path, [])
                    #expect(answer.status == .forbidden, "\(page.route.method) \(path)")
                    #expect(String(buffer: answer.body).contains("lacks the scope"), "\(page.route.method) \(path)")
                }
            }
        }
    }

    @Test func aTokenWithoutTheScopeOfARouteIsRefusedThere() async throws {
        try await ServedStore.with { store async throws in
            for route in store.server.responder.routes.routes where !route.access.isOpen && !route.access.any {
                let others = TokenScope.allCases.filter { $0 != route.access.user }.map(\.rawValue)
                let token = ServedStore.token(claims: ["scope": .string(others.joined(separator: " "))])
                let path = route.path.text.replacing("{u}", with: "ann").replacing(#/\{[^}]*\}/#, with: "1")
                let answer = try await store.send(route.method, path, as: token)
                #expect(answer.status == .forbidden, "\(route.method) \(path)")
                #expect(try answer.json["error"]?.string == "missingScope", "\(route.method) \(path)")
            }
        }
    }

    @Test func aLimitedKeyIsRefusedOutsideOfItsNames() async throws {
        try await ServedStore.with { store async throws in
            let key = try Self.add([(KeyScope.allCases, NameLimits(users: "a-", topics: "a-"))], to: store)[0]
            for route in store.server.responder.routes.routes where route.access.key != nil {
                let isNamed = !Set(route.path.variables).isDisjoint(with: ["u", "t", "topic"])
                // Of the others the body says which names it is about.
                guard isNamed || !route.takesLimitedKeys else { continue }
                let path = route.path.text.replacing(#/\{[^}]*\}/#, with: "1")
                let answer = try await store.send(route.method, path, as: key)
                #expect(answer.status == .forbidden, "\(route.method) \(path)")
                #expect(try answer.json["error"]?.string == "outsidePrefix", "\(route.method) \(path)")
            }
            #expect(try await store.send(.get, "/v1/users/a-1/tray", as: key).status == .ok)
        }
    }

    @Test func aTokenOfBeforeAnErasureOpensNothingOfWhoeverHasTheNameNext() async throws {
        try await ServedStore.with { store async throws in
            let post = { () async throws in try await store.send(.post, "/v1/users/ann/notifications", "{}") }
            let before = ServedStore.token()
            _ = try await post()
            #expect(try await store.send(.get, "/v1/users/ann/tray", as: before).status == .ok)
            let job = try await store.send(.post, "/v1/admin/erasures", #"{"user":"ann","confirm":"ann"}"#)
            let location = try #require(job.headers[.location])
            while try await store.send(.get, location).json["state"]?.string == "running" {
                try await Task.sleep(for: .milliseconds(20))
            }
            _ = try await post()
            let refused = try await store.send(.get, "/v1/users/ann/tray", as: before)
            #expect(refused.status == .unauthorized)
            #expect(try refused.json["error"]?.string == "tokenRevoked")
            let made = try await store.send(.post, "/v1/tokens", #"{"user":"ann"}"#).json
            let token = try #require(made["token"]?.string)
            #expect(try await store.send(.get, "/v1/users/ann/tray", as: token).status == .ok)
        }
    }
}
