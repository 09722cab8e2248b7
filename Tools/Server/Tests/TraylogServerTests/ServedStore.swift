import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import TraylogServer

/// A store in a directory of its own, behind the routes of a server that no socket leads to.
struct ServedStore: Sendable {
    static let secret = Array(repeating: UInt8(7), count: 32)
    /// May everything.
    let key: String
    let server: TraylogServer
    let client: any TestClientProtocol

    /// Opens a store, and removes it afterwards.
    static func with<Value: Sendable>(
        parts: [ServerPart] = [], _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (ServedStore) async throws -> Value
    ) async throws -> Value {
        try await opened(parts, change) { server, key in
            let app = Application(responder: server.responder)
            return try await app.test(.router) { try await body(ServedStore(key: key, server: server, client: $0)) }
        }
    }

    /// The server alone, without an application around it.
    static func opened<Value>(
        _ parts: [ServerPart] = [], _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (TraylogServer, _ key: String) async throws -> Value
    ) async throws -> Value {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-server-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func file(_ name: String, _ text: String) throws -> String {
            let path = directory.appending(path: name).path()
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let made = ServerKeys.made(scopes: KeyScope.allCases)
        var configuration = ServerConfiguration(store: directory.appending(path: "store").path())
        configuration.keys = try file("keys", made.line + "\n")
        configuration.userTokenKeys = [
            try file("jwk", "{\"kty\":\"oct\",\"alg\":\"HS256\",\"kid\":\"test\",\"k\":\"\(secret.base64URL)\"}")
        ]
        configuration.port = 0
        change(&configuration)
        let server = try await TraylogServer.open(configuration, parts: parts)
        do {
            let value = try await body(server, made.key)
            await server.close()
            return value
        } catch {
            await server.close()
            throw error
        }
    }

    /// Sends a request with the server key, or with another credential; `credential: nil` sends none.
    func send(
        _ method: HTTPRequest.Method, _ path: String, as credential: String?? = .none, _ body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        if let credential = credential ?? .some(key) { headers[.authorization] = "Bearer \(credential)" }
        if body != nil { headers[.contentType] = "application/json" }
        return try await client.executeRequest(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
    }

    /// A token that the server's HS256 key signs.
    ///
    /// - Parameters:
    ///   - header: members in the place of the usual ones.
    ///   - claims: claims in the place of the usual ones; null for one that is missing.
    static func token(
        for user: String = "ann", header: [String: JSONValue] = [:], claims: [String: JSONValue] = [:],
        secret: [UInt8] = secret
    ) -> String {
        let now = Int(Date().timeIntervalSince1970)
        let head: [String: JSONValue] = ["alg": "HS256", "kid": "test", "typ": "JWT"].merging(header) { $1 }
        let body: [String: JSONValue] = [
            "sub": .string(user), "aud": "traylog", "iat": .int(now), "exp": .int(now + 600),
        ].merging(claims) { $1 }
        func part(_ members: [String: JSONValue]) -> String {
            JSONValue.object(
                members.filter { if case .null = $0.value { false } else { true } }.map { ($0.key, $0.value) }
            )
            .bytes.base64URL
        }
        let message = "\(part(head)).\(part(body))"
        let code = HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: secret))
        return "\(message).\(Array(code).base64URL)"
    }
}

extension TestResponse {
    var json: JSONValue {
        get throws { try JSONValue(json: Array(body.readableBytesView)) }
    }
}
