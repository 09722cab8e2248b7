import Foundation
import Testing
import TraylogClient
import TraylogClientHTTP

/// A server, a proxy or a network's sign-in page whose answer does not end.
struct EndlessAnswerTests {
    private static let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
    private static let problem = "application/problem+json"

    private func withServer(
        silenceSeconds: Double = 30, _ serve: @escaping @Sendable (RawServer.Peer) -> Void,
        _ body: (HTTPTransport, RawServer) async throws -> Void
    ) async throws {
        let server = try RawServer(serve)
        defer { server.end() }
        try await body(HTTPTransport(server: server.url, uploads: server.url, silenceSeconds: silenceSeconds), server)
    }

    private static func endless(_ status: Int, _ type: String) -> @Sendable (RawServer.Peer) -> Void {
        { peer in
            _ = peer.send("HTTP/1.1 \(status) Endless\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n")
            while peer.send(part) {}
        }
    }

    /// The failure's words.
    private func failure(_ body: () async throws(ServiceFailure) -> Void) async -> String {
        do {
            try await body()
            return "no failure"
        } catch {
            if case .interrupted(let words) = error { return words }
            return "offline"
        }
    }

    @Test func anEndlessSuccessIsCutAndSaysSo() async throws {
        try await withServer(Self.endless(200, "application/json")) { transport, server in
            var request = ServiceRequest("GET", "/v1/users/ann/changes")
            request.longestAnswer = 1 << 20
            let words = await failure { () throws(ServiceFailure) in _ = try await transport.perform(request) }
            #expect(words.contains("longer than 1048576 bytes"))
            #expect(server.sentBytes < 64 << 20)
            while server.endedCount < 1 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    @Test(arguments: [(200, "text/html"), (503, problem), (403, "text/html"), (404, problem)])
    func anEndlessPageOfSomethingElseIsNoAnswerOfTheService(status: Int, type: String) async throws {
        try await withServer(Self.endless(status, type)) { transport, server in
            let response = try await transport.perform(ServiceRequest("GET", "/v1/users/ann/changes"))
            #expect(response.status == status && response.body.isEmpty && !response.isOfService())
            #expect(server.sentBytes < 64 << 20)
        }
    }

    @Test(arguments: [200, 500])
    func anEndlessAnswerToAnUploadCountsByItsStatus(status: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID())")
        try Data("photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withServer(Self.endless(status, "text/plain")) { transport, _ in
            let answer = try await transport.upload(file: file.path, as: "id") { _ in }
            #expect(answer.response.status == status)
        }
    }

    @Test(arguments: [false, true])
    func aHeadWithoutAnEndIsCut(isStream: Bool) async throws {
        try await withServer({ peer in
            var isThere = peer.send("HTTP/1.1 200 OK\r\n")
            while isThere { isThere = peer.send("X-More: \(String(repeating: "y", count: 1_000))\r\n") }
        }) { transport, server in
            let request = ServiceRequest("GET", "/v1/users/ann/changes")
            let words = await failure { () throws(ServiceFailure) in
                if isStream { _ = try await transport.open(request) } else { _ = try await transport.perform(request) }
            }
            #expect(words != "no failure" && words != "offline")
            #expect(server.sentBytes < 64 << 20)
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n["])
    func anAnswerThatDripsIsCut(beginning: String) async throws {
        try await withServer(
            silenceSeconds: 0.4,
            { peer in
                var isThere = peer.send(beginning)
                while isThere {
                    Thread.sleep(forTimeInterval: 0.1)
                    isThere = peer.send(" ")
                }
            }
        ) { transport, _ in
            let began = ContinuousClock.now
            let request = ServiceRequest("GET", "/v1/users/ann/changes")
            let words = await failure { () throws(ServiceFailure) in _ = try await transport.perform(request) }
            #expect(words != "no failure" && words != "offline")
            #expect(began.duration(to: .now) < .seconds(20))
        }
    }

    @Test func aStreamThatNobodyReadsWaitsAtTheServer() async throws {
        try await withServer(Self.endless(200, "text/event-stream")) { transport, server in
            var stream: ServiceStream? = try await transport.open(ServiceRequest("GET", "/v1/users/ann/changes"))
            var before = -1
            while server.sentBytes != before {
                before = server.sentBytes
                try await Task.sleep(for: .milliseconds(300))
            }
            // The system's own buffers are a few MiB.
            #expect(before < 32 << 20)
            var read = 0
            if let chunks = stream?.chunks {
                for try await chunk in chunks {
                    read += chunk.count
                    if read > 48 << 20 { break }
                }
            }
            #expect(read > 48 << 20, "it goes on as it is read")
            stream = nil
            while server.endedCount < 1 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }
}
