import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import TraylogServer

/// The edges of the service's rules: names that are none, bodies where none belongs, tags of what changed.
struct EdgeTests {
    /// Requires that an answer is a refusal, by its code and the field that it names.
    private func expectInvalid(_ answer: TestResponse, _ field: String? = nil, _ what: String) throws {
        #expect(answer.status == .badRequest, "\(what)")
        #expect(answer.headers[.contentType] == "application/problem+json", "\(what)")
        let problem = try answer.json
        #expect(problem["error"]?.string == "invalid", "\(what)")
        if let field { #expect(problem["field"]?.string == field, "\(what)") }
    }

    @Test func aNameThatIsNoneIsRefusedWhereverItStands() async throws {
        let users = [
            "tray", "inbox", "threads", "items/1", "changes", "changes?live=sse", "snapshot", "live", "history",
            "audit",
            "difference?from=0", "subscriptions", "devices",
        ]
        try await ServedStore.with { store async throws in
            for name in ["", String(repeating: "x", count: 257), "%00", "a%0ab", "%c2%85"] {
                let queries =
                    users.map { ("/v1/users/\(name)/\($0)", "user") }
                    + ["thread", "category"].map { ("/v1/users/ann/inbox?\($0)=\(name)", $0) }
                    + ["user", "actor", "device", "kind"].map { ("/v1/log?\($0)=\(name)", $0) }
                for (path, field) in queries { try expectInvalid(await store.send(.get, path), field, path) }
            }
            let many = Array(repeating: "category=a", count: 9).joined(separator: "&")
            try expectInvalid(await store.send(.get, "/v1/users/ann/inbox?\(many)"), "category", many)
            try expectInvalid(await store.send(.get, "/v1/users/ann/inbox?with="), "with", "with=")
            for user in ["", #"a\n"#, String(repeating: "x", count: 257)] {
                let body = #"{"user":"\#(user)","confirm":"\#(user)"}"#
                try expectInvalid(await store.send(.post, "/v1/admin/erasures", body), "user", body)
            }
            for scope in ["", "  "] {
                let body = #"{"user":"ann","scope":"\#(scope)"}"#
                try expectInvalid(await store.send(.post, "/v1/tokens", body), "scope", body)
            }
        }
    }

    @Test func aBodyWhereNoneBelongsIsRefused() async throws {
        try await ServedStore.with { store async throws in
            let path = "/v1/users/ann/devices/abcd"
            for method in [HTTPRequest.Method.put, .delete] {
                try expectInvalid(await store.send(method, path, #"{"kind":"x"}"#), "kind", "\(method)")
                try expectInvalid(await store.send(method, path, "{"), nil, "\(method)")
                #expect(try await store.send(method, path).status == .noContent)
            }
            let many = Array(repeating: #"{"kind":"notify","user":"ann"}"#, count: 1_001).joined(separator: ",")
            try expectInvalid(await store.send(.post, "/v1/commands", "[\(many)]"), "array", "1,001 commands")
            let packed = try await store.send(
                .post, "/v1/users/ann/notifications", "{}", headers: [.contentEncoding: "gzip"])
            #expect(packed.status == .unsupportedMediaType)
        }
    }

    @Test func aQueryIsCheckedBeforeItsTag() async throws {
        try await ServedStore.with { store async throws in
            for query in ["inbox?limit=101", "inbox?limit=0", "threads?limit=0", "inbox?cursor=x", "tray?asOf=x"] {
                let answer = try await store.send(.get, "/v1/users/ann/\(query)", headers: [.ifNoneMatch: "*"])
                try expectInvalid(answer, nil, query)
            }
        }
    }

    @Test func aTimeToComeHasTheTagOfTheHead() async throws {
        try await ServedStore.with { store async throws in
            let path = "/v1/users/tom/tray?asOf=2099-01-01T00:00:00Z"
            func notify(_ user: String) async throws {
                #expect(try await store.send(.post, "/v1/users/\(user)/notifications", "{}").status == .created)
            }
            try await notify("tom")
            let tag = try #require(try await store.send(.get, path).headers[.eTag])
            try await notify("another")
            #expect(try await store.send(.get, path, headers: [.ifNoneMatch: tag]).status == .notModified)
            try await notify("tom")
            #expect(try await store.send(.get, path, headers: [.ifNoneMatch: tag]).status == .ok)
        }
    }

    @Test func aPageThatAnErasureChangedHasAnotherTag() async throws {
        try await ServedStore.with { store async throws in
            let secret = try await store.send(.post, "/v1/users/eve/notifications", #"{"title":"a secret"}"#)
            let first = try #require(UInt64(secret.headers[HTTPField.Name("Traylog-Seq")!] ?? ""))
            let crowd = Array(repeating: #"{"kind":"notify","user":"crowd"}"#, count: 1_000).joined(separator: ",")
            for _ in 0..<2 { #expect(try await store.send(.post, "/v1/commands", "[\(crowd)]").status == .ok) }
            let end = try await store.send(.head, "/v1/log").headers[HTTPField.Name("Stream-Next-Offset")!] ?? ""
            let number = String(first - 1)
            let offset = end.dropLast(20) + String(repeating: "0", count: 20 - number.count) + number
            let before = try await store.send(.get, "/v1/log?offset=\(offset)")
            #expect(before.headers[HTTPField.Name("Stream-Up-To-Date")!] == nil)
            let tag: HTTPFields = [.ifNoneMatch: try #require(before.headers[.eTag])]
            #expect(try await store.send(.post, "/v1/users/crowd/notifications", "{}").status == .created)
            #expect(try await store.send(.get, "/v1/log?offset=\(offset)", headers: tag).status == .notModified)
            let job = try await store.send(.post, "/v1/admin/erasures", #"{"user":"eve","confirm":"eve"}"#)
            #expect(job.status == .accepted)
            let location = try #require(job.headers[.location])
            while try await store.send(.get, location).json["state"]?.string == "running" {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await store.send(.get, location).json["state"]?.string == "done")
            let after = try await store.send(.get, "/v1/log?offset=\(offset)", headers: tag)
            #expect(after.status == .ok)
            #expect(!String(buffer: after.body).contains("a secret"))
        }
    }

    @Test func whatReadsATrayWaitsForTheEventThatItsCallerHasSeen() async throws {
        try await ServedStore.with { store async throws in
            let own = store.server.services[0].store
            let routes = store.server.responder.routes.routes.filter {
                $0.method == .get && $0.path.variables.contains("u") && !$0.isLive
            }
            #expect(routes.count > 10)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for route in routes {
                    group.addTask {
                        let path = route.path.text.replacing("{u}", with: "ann").replacing(#/\{[^}]*\}/#, with: "1")
                        _ = try await store.send(.get, path, headers: [.minSeq: "1"])
                        #expect(try await own.log.head() == 1, "\(path)")
                    }
                }
                try await Task.sleep(for: .milliseconds(300))
                #expect(try await store.send(.post, "/v1/users/ann/notifications", "{}").status == .created)
                try await group.waitForAll()
            }
        }
    }
}
