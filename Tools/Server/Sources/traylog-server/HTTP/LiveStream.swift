import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// An answer that goes on: server-sent events, a comment every 15 seconds, and an end when the server stops.
enum LiveStream {
    private static let beatTime = TimeAmount.seconds(15)
    /// What a server that stops says last.
    static let lastEvent = event("end", "{}")

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
        let loop = call.channel.eventLoop
        let body = ResponseBody { writer in
            let mailbox = Mailbox()
            let number = service.streams.add(mailbox)
            // One task for each stream, and timers of its event loop: ten thousand of them are to cost little.
            let beats = loop.scheduleRepeatedTask(initialDelay: beatTime, delay: beatTime) { _ in mailbox.beat() }
            let end = seconds.map { seconds in loop.scheduleTask(in: .seconds(Int64(seconds))) { mailbox.end() } }
            let task = Task {
                do { try await produce(mailbox) } catch {
                    mailbox.end(event("error", String(decoding: Problem(error).json, as: UTF8.self)))
                }
                mailbox.end(lastEvent)
            }
            defer {
                service.streams.remove(number)
                beats.cancel()
                end?.cancel()
                task.cancel()
                mailbox.end()
            }
            try await write(mailbox, to: &writer)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// Writes what comes until the end.
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

    /// One server-sent event; the data must be one line.
    static func event(_ name: String, id: String? = nil, _ data: String) -> [UInt8] {
        Array("event: \(name)\n\(id.map { "id: \($0)\n" } ?? "")data: \(data)\n\n".utf8)
    }
}

/// The live streams that are open, so that a server that stops can end them.
final class LiveStreams: Sendable {
    private struct State {
        var next = 0
        var open: [Int: Mailbox] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.open.count } }

    /// - Returns: what ``remove(_:)`` takes.
    func add(_ mailbox: Mailbox) -> Int {
        let (number, isOver) = state.withLock { state in
            state.next += 1
            state.open[state.next] = mailbox
            return (state.next, state.isOver)
        }
        if isOver { mailbox.end(LiveStream.lastEvent) }
        return number
    }

    func remove(_ number: Int) { state.withLock { $0.open[number] = nil } }

    func endAll() {
        let open = state.withLock { state in
            state.isOver = true
            return Array(state.open.values)
        }
        for mailbox in open { mailbox.end(LiveStream.lastEvent) }
    }
}
