import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
@_spi(Operations) import Traylog

@testable import TraylogServer
@testable import TraylogServerAPNs
@testable import TraylogServerNovu

/// Every route of the table, with values that a stranger would choose for its variables, query fields, headers and members.
///
/// A trap ends the test's process, so that the report names the test; the request stands in the last line of `TRAYLOG_HOSTILE_LOG`,
/// where that is set.
@Suite(.timeLimit(.minutes(10)))
struct HostileRequestTests {
    /// Numbers at all edges of all types, as text.
    private static let numbers = [
        "0", "-0", "1", "-1", "2147483648", "4294967296", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
        "-9223372036854775809", "99999999999999999999999999", "1e300", "-1e300", "1e-300", "1.5", "2.0", "nan", "inf",
        "-inf", "0x10", "+1", "1_000", "٣",
    ]
    private static let texts = [
        "", " ", "\u{fffd}", "\u{0}", "\u{301}", "a\u{301}}}}", "\"", "\\", "../../etc/passwd", "@host/v1", "//host",
        "key:", "key:\u{301}", "me", "%", "a,b", "~", "_", "-", "*", "null", "true", "\u{202e}", "\u{feff}x",
        "W/\"-\"", "\"1-18446744073709551615\"", "9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z",
        "-292275055-05-16T16:47:04.192Z", "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z",
    ]
    /// Percent-encoding that says no text.
    private static let wrongEncodings = ["%ff", "%zz", "%", "%00", "%c0%af", "%ed%a0%80"]
    /// Values of JSON that are neither texts nor numbers.
    private static let values = [
        "null", "true", "[]", "{}", "[1]", "[null]", "{\"a\":1e300}", "[18446744073709551615]", "\"\\ud800\"",
        "{\"a\":\"\u{301}}}}}\"}", String(repeating: "[", count: 70) + String(repeating: "]", count: 70),
    ]

    private static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) }
        return given ?? UInt64.random(in: 0 ... .max)
    }()

    /// How many values each place gets: some of all in a quick run, and each in a long one.
    private static let most = ProcessInfo.processInfo.environment["TRAYLOG_TESTS"] == "nightly" ? Int.max : 6

    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            // SplitMix64.
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    private static func some(_ values: [String], _ random: inout Random) -> [String] {
        // The largest numbers are the ones that arithmetic ends at.
        let always = ["18446744073709551615", "9223372036854775807", "-9223372036854775808", "1e300"]
        return Array(Set(always.filter(values.contains) + values.shuffled(using: &random).prefix(most))).sorted()
    }

    private struct Hostile {
        var path: String
        var headers: HTTPFields = [:]
        var body: String?
    }

    /// The requests that put a hostile value into one place of a route, with harmless ones in the others.
    private static func requests(_ route: Route, _ random: inout Random) -> [Hostile] {
        let harmless = ["u": "ann", "item": "1", "seq": "1", "t": "news", "topic": "news", "id": "00", "name": "t"]
        func path(_ changes: [String: String] = [:]) -> String {
            route.path.text.split(separator: "/").map { part in
                guard part.hasPrefix("{") else { return "/" + part }
                let name = String(part.dropFirst().dropLast())
                return "/" + (changes[name] ?? harmless[name] ?? "x")
            }.joined()
        }
        var all: [Hostile] = []
        for name in route.path.variables {
            for value in some(numbers + texts, &random) { all.append(Hostile(path: path([name: encoded(value)]))) }
            for value in wrongEncodings { all.append(Hostile(path: path([name: value]))) }
        }
        for name in route.query {
            for value in some(numbers + texts, &random) {
                all.append(Hostile(path: "\(path())?\(name)=\(encoded(value))"))
            }
            all.append(Hostile(path: "\(path())?\(name)=%ff&\(name)=1"))
        }
        for name in route.requestHeaders + [
            "Authorization", "X-Forwarded-For", "Accept", "Origin", "Traylog-Forwarded",
        ] {
            guard let field = HTTPField.Name(name) else { continue }
            // A read waits five seconds for an event that is still to come, and then says so.
            let isWaitedFor = { (value: String) in name == "Traylog-Min-Seq" && Seq(value) ?? .zero > 5 }
            for value in some(numbers + texts, &random) where HTTPField.isValidValue(value) && !isWaitedFor(value) {
                all.append(Hostile(path: path(), headers: [field: value]))
            }
        }
        let members: [String] =
            switch route.body {
            case .object(let names), .fields(let names): names
            case .none, .commands: []
            }
        for name in members {
            for value in some(numbers + texts, &random) where !(name == "dest" && value.hasPrefix("/")) {
                all.append(Hostile(path: path(), body: "{\"\(name)\":\(JSONValue.string(value).text)}"))
                all.append(Hostile(path: path(), body: "{\"\(name)\":\(value)}"))
            }
            for value in values { all.append(Hostile(path: path(), body: "{\"\(name)\":\(value)}")) }
        }
        if case .commands = route.body {
            for value in numbers + values {
                for member in ["upTo", "items", "item", "until", "expectedRevision", "summaryCount", "event", "data"] {
                    let command = "{\"kind\":\"markAll\",\"user\":\"ann\",\"as\":\"seen\",\"\(member)\":\(value)}"
                    all.append(Hostile(path: path(), body: "[\(command)]"))
                }
            }
        }
        return all
    }

    private static func encoded(_ text: String) -> String { PercentEncoding.encode(text) }

    /// Sends them all, one after the other, and looks at each answer.
    private func send(
        _ routes: [Route], to store: ServedStore, mayBeUnavailable: Bool = false, queries: [String] = []
    ) async throws {
        var random = Random(state: Self.seed)
        let log = ProcessInfo.processInfo.environment["TRAYLOG_HOSTILE_LOG"].flatMap { path in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        var count = 0
        for route in routes {
            for request in Self.requests(route, &random) {
                for query in [""] + queries {
                    var path = request.path
                    if !query.isEmpty { path += (path.contains("?") ? "&" : "?") + query }
                    try log?.write(
                        contentsOf: Data("\(route.method) \(path) \(request.headers) \(request.body ?? "")\n".utf8))
                    let answer = try await store.send(route.method, path, request.body, headers: request.headers)
                    let isUnavailable = mayBeUnavailable && answer.status == .serviceUnavailable
                    #expect(
                        answer.status.code < 500 || isUnavailable,
                        "seed \(Self.seed): \(answer.status) to \(route.method) \(path) \(request.body ?? "")")
                    #expect(answer.body.readableBytes < 4 << 20, "seed \(Self.seed): \(route.method) \(path)")
                    count += 1
                }
            }
        }
        #expect(count > routes.count)
    }

    /// Some events, so that there is something to find.
    private func fill(_ store: ServedStore) async throws {
        for number in 1...5 {
            let body = "{\"title\":\"t\(number)\",\"key\":\"k\(number)\",\"data\":{\"a\":\"\u{301}}}}}\"}}"
            _ = try await store.send(.post, "/v1/users/ann/notifications", body)
        }
        _ = try await store.send(.put, "/v1/users/ann/subscriptions/news")
        _ = try await store.send(.post, "/v1/topics/news/broadcasts", "{\"title\":\"b\"}")
    }

    @Test func noValueInAnyPlaceOfAnyRouteEndsTheServerOrFailsInIt() async throws {
        print("seed \(Self.seed)")
        try await ServedStore.with(parts: [.novu]) { store async throws in
            try await fill(store)
            // What goes on for long is looked at below.
            let routes = store.server.responder.routes.routes.filter { !$0.isLive }
            #expect(routes.count > 70)
            #expect(routes.contains { $0.path.text.hasPrefix("/compat/novu/") })
            try await send(routes, to: store)
            #expect(try await store.send(.get, "/healthz").status == .ok)
            #expect(store.server.services[0].admission.isIdle, "all places are given back")
        }
    }

    /// What a push provider says, beside Apple's own path: the token, each header and each member of a payload.
    @Test func noPushOfAProviderEndsTheServerOrFailsInIt() async throws {
        print("seed \(Self.seed)")
        let token = String(repeating: "ab", count: 32)
        let headers: [HTTPField.Name] = [
            .apnsID, .apnsPushType, .apnsPriority, .apnsExpiration, .apnsCollapseID, .interruptionLevel, .authorization,
        ]
        let members = [
            "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
            "target-content-id", "interruption-level", "relevance-score", "filter-criteria", "stale-date",
        ]
        let alert = [
            "title", "subtitle", "body", "title-loc-key", "title-loc-args", "loc-args", "summary-arg",
            "summary-arg-count",
        ]
        var random = Random(state: Self.seed)
        var pushes: [Hostile] = []
        for value in Self.some(Self.numbers + Self.texts, &random) + Self.wrongEncodings {
            for path in ["/3/device/\(value)", "/3/device/\(Self.encoded(value))", "/\(value)"] {
                pushes.append(Hostile(path: path, body: "{\"aps\":{\"alert\":\"a\"}}"))
            }
        }
        for name in headers {
            for value in Self.some(Self.numbers + Self.texts, &random) where HTTPField.isValidValue(value) {
                pushes.append(
                    Hostile(path: "/3/device/\(token)", headers: [name: value], body: "{\"aps\":{\"alert\":\"a\"}}"))
            }
        }
        for value in Self.some(Self.numbers, &random) + Self.texts.map({ JSONValue.string($0).text }) + Self.values {
            for name in members {
                pushes.append(Hostile(path: "/3/device/\(token)", body: "{\"aps\":{\"\(name)\":\(value)}}"))
            }
            for name in alert {
                pushes.append(Hostile(path: "/3/device/\(token)", body: "{\"aps\":{\"alert\":{\"\(name)\":\(value)}}}"))
            }
            pushes.append(Hostile(path: "/3/device/\(token)", body: "{\"aps\":\(value),\"own\":\(value)}"))
            pushes.append(Hostile(path: "/3/device/\(token)", body: value))
        }
        try await ServedStore.with { [pushes] store async throws in
            _ = try await store.send(.put, "/v1/users/ann/devices/\(token)")
            let app = Application(responder: APNsResponder(service: store.server.services[0], partitions: nil))
            try await app.test(.router) { provider in
                var taken = 0
                for push in pushes {
                    let answer = try await provider.executeRequest(
                        uri: push.path, method: .post, headers: push.headers,
                        body: push.body.map { ByteBuffer(string: $0) })
                    #expect(
                        answer.status.code < 500,
                        "seed \(Self.seed): \(answer.status) to \(push.path) \(push.headers) \(push.body ?? "")")
                    if answer.status == .ok { taken += 1 }
                }
                #expect(taken > 0, "some pushes are right")
            }
            #expect(try await store.send(.get, "/healthz").status == .ok)
            #expect(store.server.services[0].admission.isIdle, "all places are given back")
        }
    }

    /// A server that closes lets nobody wait, so that each answer of a stream ends at once.
    @Test func noValueInAnyPlaceOfAStreamEndsTheServer() async throws {
        print("seed \(Self.seed)")
        try await ServedStore.with { store async throws in
            try await fill(store)
            for service in store.server.services { service.drain() }
            let routes = store.server.responder.routes.routes.filter { $0.isLive || $0.manner == .feed }
            try await send(
                routes, to: store, mayBeUnavailable: true,
                queries: [
                    "live=sse&cursor=18446744073709551615", "live=long-poll&cursor=18446744073709551615",
                    "live=sse&offset=now",
                ])
            #expect(store.server.services[0].admission.isIdle, "all places are given back")
        }
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}
