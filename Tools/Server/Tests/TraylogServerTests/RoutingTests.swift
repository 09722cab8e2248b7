import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import TraylogServer

struct RoutingTests {
    @Test func unknownPathsAndBadEncodingAreRefused() async throws {
        try await ServedStore.with { store async throws in
            for path in ["/", "/v1", "/v1/users/a/b", "/v2/users", "//"] {
                #expect(try await store.send(.get, path).status == .notFound, "\(path)")
            }
            for path in ["/v1/users/%zz/tray", "/v1/users/%ff/tray", "/v1/users//tray"] {
                #expect(try await store.send(.get, path).status == .badRequest, "\(path)")
            }
            let long = String(repeating: "x", count: 257)
            #expect(try await store.send(.get, "/v1/users/\(long)/tray").status == .badRequest)
        }
    }

    @Test func aMethodThatAPathDoesNotTakeIsRefusedWithThoseItTakes() async throws {
        try await ServedStore.with { store async throws in
            let table = store.server.responder.routes
            for path in table.templates {
                let own = Set(table.routes.filter { $0.path.text == path }.map(\.method))
                let filled = path.replacing(#/\{[^}]*\}/#, with: "1")
                for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] where !own.contains(method) {
                    let answer = try await store.send(method, filled)
                    // Another template may take it, as `/v1/users/{u}` does `/v1/users/me`.
                    guard answer.status == .methodNotAllowed else { continue }
                    let allowed = Set((answer.headers[.allow] ?? "").split(separator: ", ").map(String.init))
                    #expect(allowed.isSuperset(of: own.map(\.rawValue)), "\(method) \(path)")
                    #expect(allowed.contains("HEAD") == own.contains(.get), "\(method) \(path)")
                }
            }
            let answer = try await store.send(.delete, "/v1/users/ann/tray")
            #expect(answer.status == .methodNotAllowed)
            #expect(answer.headers[.contentType] == "application/problem+json")
        }
    }

    @Test func everyReferenceOfTheDescriptionLeadsSomewhere() async throws {
        try await ServedStore.with { store async throws in
            let text = String(buffer: try await store.send(.get, "/openapi.json").body)
            let names = try #require(try JSONValue(json: Array(text.utf8))["components"]?["schemas"]).members.map(
                \.name)
            let used = Set(text.matches(of: #/#/components/schemas/(\w+)/#).map { String($0.1) })
            #expect(used == Set(names))
        }
    }

    @Test func aServerWithoutAPartRefusesItsOptions() async throws {
        await #expect(throws: ConfigurationError.self) {
            try await ServedStore.with(parts: [], { $0.apns = ("127.0.0.1", 0) }, { _ in })
        }
    }
}
