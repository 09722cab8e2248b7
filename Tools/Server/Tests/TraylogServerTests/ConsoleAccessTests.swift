import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import TraylogServer
@testable import TraylogServerConsole

/// Who may send which form of the console, asked of every page that takes one.
struct ConsoleAccessTests {
    private static func forms(but left: String...) -> [String] {
        ConsolePage.all.filter { $0.route.method == .post && !left.contains($0.route.path.text) }.map { page in
            page.route.path.text.replacing("{u}", with: "ann").replacing("{id}", with: "verifications")
        }
    }

    @Test func aFormOfAnotherSiteIsRefused() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            let visitor = try await ConsoleVisitor(store)
            let evil = "https://evil.example"
            let strangers: [HTTPFields] = [
                [.origin: evil], [.origin: "null"], [.origin: "null", .fetchSite: "cross-site"],
                [.origin: evil, .fetchSite: "same-origin"], [.fetchSite: "same-site"], [.fetchSite: "none"],
            ]
            for path in Self.forms() {
                for headers in strangers + (path == "/console/sign-in" ? [] : [[:]]) {
                    let answer = try await visitor.send(path, [], headers: headers)
                    #expect(answer.status == .forbidden, "\(path) \(headers)")
                    #expect(String(buffer: answer.body).contains("another site sent this form"), "\(path) \(headers)")
                }
            }
        }
    }

    @Test func aFormIsTakenOnceAndOnlyFromItsOwnSession() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            let visitor = try await ConsoleVisitor(store)
            let sent = try visitor.formToken()
            #expect(try await visitor.send("/console/users/ann/undo", [], form: sent).status != .forbidden)
            let others = [
                sent, try visitor.again(purpose: "another").formToken(), "", String(repeating: "A", count: 64),
            ]
            for path in Self.forms(but: "/console/sign-in") {
                for form in others {
                    let answer = try await visitor.send(path, [], form: form)
                    #expect(answer.status == .forbidden, "\(path) \(form)")
                    #expect(String(buffer: answer.body).contains("was sent before"), "\(path) \(form)")
                }
            }
        }
    }

    @Test func guessesOfAKeyHaveAnEndAndWhoHasItSignsIn() async throws {
        try await ServedStore.with(parts: [.console]) { store async throws in
            var refused = 0
            for number in 1...40 where refused == 0 {
                let answer = try await store.client.executeRequest(
                    uri: "/console/sign-in", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded", .accept: "text/html"],
                    body: ByteBuffer(string: "key=tlk_a_\(number)"))
                if answer.status == .tooManyRequests { refused = number }
            }
            #expect((21...25).contains(refused))
            _ = try await ConsoleVisitor(store)
        }
    }

    @Test func aSessionEndsUnusedAndAtItsGreatestAge() throws {
        let sessions = Sessions()
        let (id, key) = try #require(try Self.key())
        let start = Date(timeIntervalSince1970: 1_000_000)
        let unused = sessions.begin(keyID: id, key, now: start)
        #expect(sessions.isOpen(unused, now: start + Sessions.idleSeconds - 1))
        #expect(!sessions.isOpen(unused, now: start + Sessions.idleSeconds))
        #expect(sessions.use(unused, now: start + Sessions.idleSeconds) == nil)
        let used = sessions.begin(keyID: id, key, now: start)
        for hours in stride(from: 1.0, to: 24, by: 7) {
            #expect(sessions.use(used, now: start + hours * 3_600) != nil, "after \(hours) hours")
        }
        #expect(sessions.use(used, now: start + Sessions.longestSeconds - 1) != nil)
        #expect(sessions.use(used, now: start + Sessions.longestSeconds) == nil)
    }

    private static func key() throws -> (id: String, key: ServerKeys.Key)? {
        let made = ServerKeys.made(scopes: [.users])
        var keys = try ServerKeys(file: nil)
        try keys.add(line: made.line)
        return keys.find(made.key)
    }
}
