import HTTPTypes
import Hummingbird
import NIOCore
import Traylog

/// An answer that goes on: server-sent events, a comment every 15 seconds, and an end that says why, unless its time was over.
enum LiveStream {
    /// How long a browser waits before it comes back; it would choose by itself otherwise.
    private static let retry = ByteBuffer(string: "retry: 2000\n\n")

    /// - Parameters:
    ///   - seconds: after so long the server closes the stream; nil for never.
    ///   - produce: writes events, one with each call of ``OpenAnswer/write(_:to:)``, until the answer's stopper stops.
    static func response(
        _ call: Call, endingAfter seconds: Int? = nil, headers: HTTPFields = [:],
        _ produce: @escaping @Sendable (inout any ResponseBodyWriter, OpenAnswer) async throws -> Void
    ) throws -> Response {
        let service = call.service
        guard !service.isDraining else { throw Problem.unavailable("the server is closing") }
        let stream = try call.place?.beginStream()
        var headers = headers
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        headers[.accelBuffering] = "no"
        // Everything happens on the connection's own task: ten thousand streams are to cost little.
        let body = ResponseBody { writer in
            let answer = OpenAnswer(call, isStream: true)
            var last: ByteBuffer?
            do {
                try await service.answers.during(answer, atMostSeconds: seconds) {
                    try await answer.write(retry, to: &writer)
                    try await produce(&writer, answer)
                }
                last = end(answer)
            } catch is OpenAnswer.Ended {
                last = end(answer)
            } catch TraylogError.refused(.erased) {
                last = end(.erased)
            } catch {
                service.noteDamage(error)
                let problem = Problem(error)
                last =
                    problem.error == EndReason.erased.rawValue
                    ? end(.erased) : event("error", String(decoding: problem.json, as: UTF8.self))
            }
            answer.close()
            withExtendedLifetime(stream) {}
            if let last { try await writer.write(last) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// What a stream says last; nil for one whose time is over.
    private static func end(_ answer: OpenAnswer) -> ByteBuffer? {
        switch answer.end {
        case .time, .disconnection: nil
        case .reason(let reason): end(reason)
        // The store was closed.
        case nil: end(.closing)
        }
    }

    private static func end(_ reason: EndReason) -> ByteBuffer {
        event("end", String(decoding: (["reason": .string(reason.rawValue)] as JSONValue).bytes, as: UTF8.self))
    }

    /// One server-sent event; the data must be one line.
    static func event(_ name: String, id: String? = nil, _ data: String) -> ByteBuffer {
        ByteBuffer(string: "event: \(name)\n\(id.map { "id: \($0)\n" } ?? "")data: \(data)\n\n")
    }
}
