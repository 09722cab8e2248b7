import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@_spi(Operations) import Traylog
@testable import TraylogServer
@testable import TraylogServerConsole

/// Somebody who is signed in to the console of a served store, without a browser.
struct ConsoleVisitor: Sendable {
    let store: ServedStore
    private let console: Console
    private let cookieName: String
    private let token: String

    /// Signs in with the server key, or with another one.
    init(_ store: ServedStore, key: String? = nil, purpose: String = "a test") async throws {
        let form = "key=\(key ?? store.key)&purpose=\(PercentEncoding.encode(purpose))"
        let answer = try await store.client.executeRequest(
            uri: "/console/sign-in", method: .post,
            headers: [.contentType: "application/x-www-form-urlencoded", .accept: "text/html"],
            body: ByteBuffer(string: form))
        #expect(answer.status == .seeOther)
        let field = try #require(answer.headers[.setCookie]?.split(separator: ";").first)
        let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
        self.init(store, try #require(store.server.responder.pages as? Console), parts[0], parts[1])
    }

    private init(_ store: ServedStore, _ console: Console, _ cookieName: String, _ token: String) {
        (self.store, self.console, self.cookieName, self.token) = (store, console, cookieName, token)
    }

    /// The same key in another session, which counts for no limit of sign-ins.
    func again(purpose: String) throws -> ConsoleVisitor {
        let session = try #require(sessions.use(token))
        let other = sessions.begin(keyID: session.keyID, session.key, purpose: purpose)
        return ConsoleVisitor(store, console, cookieName, other)
    }

    /// The pages that take a form.
    var forms: [Route] { console.routes.filter { $0.method == .post } }

    /// Whose limits count for the session.
    var caller: Caller? { sessions.use(token)?.caller }

    private var sessions: Sessions { console.service.authenticator.sessions }
    private var cookie: String { "\(cookieName)=\(token)" }

    func get(_ path: String) async throws -> TestResponse {
        try await store.client.executeRequest(
            uri: path, method: .get, headers: [.accept: "text/html", .cookie: cookie], body: nil)
    }

    /// What a page of this session writes into its form.
    func formToken() throws -> String { try #require(sessions.use(token)).formToken() }

    /// Sends a form as its page would, with a token of its own.
    ///
    /// - Parameters:
    ///   - fields: encoded.
    ///   - form: another token.
    ///   - headers: what the browser says about the page that has the form.
    func send(
        _ path: String, _ fields: [(name: String, value: String)], form: String? = nil,
        headers: HTTPFields = [.fetchSite: "same-origin"]
    ) async throws -> TestResponse {
        let form = try form ?? formToken()
        let body = (["form=\(form)"] + fields.map { "\($0.name)=\($0.value)" }).joined(separator: "&")
        var headers = headers
        headers[.accept] = "text/html"
        headers[.cookie] = cookie
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await store.client.executeRequest(
            uri: path, method: .post, headers: headers, body: ByteBuffer(string: body))
    }
}
