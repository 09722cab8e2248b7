import HTTPTypes
import Hummingbird
import ServiceLifecycle

/// An answer that goes on: server-sent events, a comment every 15 seconds, and an end when the server stops.
enum LiveStream {
    static let beatSeconds = 15

    /// - Parameters:
    ///   - seconds: after so long the server closes the stream; nil for never.
    ///   - produce: fills the mailbox until it is cancelled.
    static func response(
        _ call: Call, endingAfter seconds: Int? = nil, headers: HTTPFields = [:],
        _ produce: @escaping @Sendable (Mailbox) async throws -> Void
    ) throws -> Response {
        let service = call.service
        guard !service.isDraining else { throw Problem.unavailable("the server is closing") }
        var headers = headers
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        let body = ResponseBody { writer in
            service.metrics.streams(adding: 1)
            defer { service.metrics.streams(adding: -1) }
            let mailbox = Mailbox()
            let tasks = Task {
                await withGracefulShutdownHandler {
                    await run(service, mailbox, seconds, produce)
                } onGracefulShutdown: {
                    mailbox.end(event("end", "{}"))
                }
            }
            defer {
                tasks.cancel()
                mailbox.end()
            }
            try await write(mailbox, to: &writer)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// Writes what comes until the end. A reader that takes nothing for 30 seconds is left alone.
    private static func write(_ mailbox: Mailbox, to writer: inout any ResponseBodyWriter) async throws {
        while true {
            switch await mailbox.take() {
            case .piece(let bytes): try await writer.write(ByteBuffer(bytes: bytes))
            case .beat: try await writer.write(ByteBuffer(string: ":\n\n"))
            case .end(let bytes):
                if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
                return
            }
        }
    }

    private static func run(
        _ service: Service, _ mailbox: Mailbox, _ seconds: Int?,
        _ produce: @escaping @Sendable (Mailbox) async throws -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do { try await produce(mailbox) } catch {
                    let problem = Problem(error)
                    mailbox.end(event("error", String(decoding: problem.json, as: UTF8.self)))
                }
                mailbox.end(event("end", "{}"))
            }
            group.addTask {
                let start = ContinuousClock.now
                while !Task.isCancelled {
                    guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
                    let passed = Int((ContinuousClock.now - start) / .seconds(1))
                    if service.isDraining { return mailbox.end(event("end", "{}")) }
                    if let seconds, passed >= seconds { return mailbox.end() }
                    if passed % beatSeconds == 0 { mailbox.beat() }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// One server-sent event; the data must be one line.
    static func event(_ name: String, id: String? = nil, _ data: String) -> [UInt8] {
        Array("event: \(name)\n\(id.map { "id: \($0)\n" } ?? "")data: \(data)\n\n".utf8)
    }
}
