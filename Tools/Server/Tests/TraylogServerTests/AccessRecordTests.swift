import HTTPTypes
import HummingbirdTesting
import Testing
@_spi(Operations) import Traylog

@testable import TraylogServer
@testable import TraylogServerConsole

/// With `--record-access` nobody reads unrecorded: every route and every page is asked, and whatever shows what was stored about a
/// person must have left a record.
struct AccessRecordTests {
    private static let secret = "planted-secret"

    private static func with(_ body: @escaping @Sendable (ServedStore) async throws -> Void) async throws {
        try await ServedStore.with(parts: [.console], { $0.recordsAccess = true }) { store async throws in
            // Item 1 is Ann's, and event 3 a broadcast that she got.
            let content = #"{"title":"planted-secret","key":"k","data":{"a":"planted-secret"}}"#
            #expect(try await store.send(.post, "/v1/users/ann/notifications", content).status == .created)
            #expect(try await store.send(.put, "/v1/users/ann/subscriptions/t", "{}").status == .ok)
            #expect(try await store.send(.post, "/v1/topics/t/broadcasts", #"{"title":"x"}"#).status == .created)
            try await body(store)
        }
    }

    private static func filled(_ template: String) -> String {
        template.replacing(#/\{([^}]*)\}/#) { match in
            switch match.1 {
            case "u": "ann"
            case "topic", "t": "t"
            default: "1"
            }
        }
    }

    /// How often somebody who has this purpose is recorded among Ann's events.
    private static func records(_ store: ServedStore, for purpose: String) async throws -> Int {
        var filter = EventFilter()
        (filter.user, filter.kinds) = ("ann", [.audited])
        return try await store.server.services[0].store.log.events(matching: filter, limit: 1_000).elements.count {
            event in
            if case .audited(purpose, _) = event.body { true } else { false }
        }
    }

    /// Whether an answer shows what was stored: as text, or as the payload of a disclosure.
    private static func showsSecret(_ answer: TestResponse) -> Bool {
        let text = String(buffer: answer.body)
        return answer.status == .ok && (text.contains(secret) || text.contains(#""payload":""#))
    }

    @Test func everyRouteThatShowsWhatIsStoredAboutAPersonRecordsWhoReadsIt() async throws {
        try await Self.with { store async throws in
            let routes = store.server.responder.routes.routes
            var shown: Set<String> = []
            for (index, route) in routes.enumerated() where route.method == .get {
                guard !route.isLive else {
                    #expect(route.shows == .user, "\(route.path.text)")
                    continue
                }
                for query in ["", "?user=ann", "?list=unread", "?from=0"] {
                    let purpose = "route \(index)\(query)"
                    let answer = try await store.send(
                        .get, Self.filled(route.path.text) + query, headers: [.purpose: purpose])
                    guard Self.showsSecret(answer) else { continue }
                    shown.insert(route.path.text)
                    #expect(try await Self.records(store, for: purpose) > 0, "\(route.path.text)\(query)")
                }
            }
            #expect(
                shown.isSuperset(of: [
                    "/v1/log", "/v1/users/{u}/history", "/v1/users/{u}/inbox", "/v1/users/{u}/items/{item}",
                    "/v1/users/{u}/changes", "/v1/users/{u}/snapshot",
                ]), "\(shown)")
        }
    }

    @Test func everyPageThatShowsWhatIsStoredAboutAPersonRecordsWhoReadsIt() async throws {
        try await Self.with { store async throws in
            var targets = ConsolePage.all.filter { $0.route.method == .get }.map { Self.filled($0.route.path.text) }
            targets += ["/console/search?q=planted", "/console/log?user=ann", "/console/users/ann/difference?from=0"]
            targets += store.server.responder.routes.routes
                .filter { $0.method == .get && !$0.isLive && $0.path.text.hasPrefix("/v1/") }
                .map { "/console/data/" + Self.filled($0.path.text).dropFirst("/v1/".count) }
            let visitor = try await ConsoleVisitor(store)
            var shown = 0
            for (index, target) in targets.enumerated() {
                let purpose = "Seite \(index), geprüft"
                let answer = try await visitor.again(purpose: purpose).get(target)
                guard Self.showsSecret(answer) else { continue }
                shown += 1
                #expect(try await Self.records(store, for: purpose) > 0, "\(target)")
            }
            #expect(shown >= 12)
        }
    }

    @Test func theBottomOfTheLogRecordsEachPersonOnceAnHour() async throws {
        try await Self.with { store async throws in
            for user in 0..<70 {
                _ = try await store.send(.post, "/v1/users/user\(user)/notifications", #"{"title":"x"}"#)
            }
            let own = store.server.services[0].store
            let before = try await own.log.head()
            for _ in 0..<3 {
                #expect(try await store.send(.get, "/v1/log", headers: [.purpose: "once"]).status == .ok)
            }
            // Ann and the 70; the records themselves are no content.
            #expect(try await own.log.head().events(after: before) == 71)
            let newest = try await own.log.events(matching: EventFilter(), newestFirst: true, limit: 1)
            let record = try #require(newest.elements.first)
            #expect(record.device == "/v1/log")
        }
    }
}
