import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import Synchronization
import Traylog

/// An answer that goes on: server-sent events, a comment every 15 seconds, and an end when the server stops.
enum LiveStream {
    /// What a server that stops says last.
    private static var lastEvent: ByteBuffer { event("end", "{}") }

    /// - Parameters:
    ///   - seconds: after so long the server closes the stream; nil for never.
    ///   - produce: writes events, one with each call, until the stream's stopper stops.
    static func response(
        _ call: Call, endingAfter seconds: Int? = nil, headers: HTTPFields = [:],
        _ produce: @escaping @Sendable (inout any ResponseBodyWriter, OpenStream) async throws -> Void
    ) throws -> Response {
        let service = call.service
        guard !service.isDraining else { throw Problem.unavailable("the server is closing") }
        var headers = headers
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        let channel = call.channel
        // Everything happens on the connection's own task: ten thousand streams are to cost little.
        let body = ResponseBody { writer in
            let stream = OpenStream(channel)
            let number = service.streams.add(stream)
            let end = seconds.map { seconds in
                channel.eventLoop.scheduleTask(in: .seconds(Int64(seconds))) { stream.end(.time) }
            }
            defer {
                service.streams.remove(number)
                end?.cancel()
            }
            var last: ByteBuffer? = lastEvent
            do {
                try await produce(&writer, stream)
                if stream.reason == .time { last = nil }
            } catch {
                last = event("error", String(decoding: Problem(error).json, as: UTF8.self))
            }
            stream.close()
            if let last { try await writer.write(last) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// One server-sent event; the data must be one line.
    static func event(_ name: String, id: String? = nil, _ data: String) -> ByteBuffer {
        ByteBuffer(string: "event: \(name)\n\(id.map { "id: \($0)\n" } ?? "")data: \(data)\n\n")
    }
}

/// A live stream that is open.
final class OpenStream: Sendable {
    enum End: Sendable {
        /// It lasted as long as it may.
        case time
        /// The server stops.
        case drain
        /// The connection is gone.
        case disconnection
    }

    private struct State {
        var isOpen = true
        var reason: End?
    }

    let stopper = Stopper()
    private let channel: any Channel
    private let state = Mutex(State())

    init(_ channel: any Channel) {
        self.channel = channel
        channel.closeFuture.whenComplete { [weak self] _ in self?.end(.disconnection) }
        channel.eventLoop.execute { [weak self] in
            let handler = try? channel.pipeline.syncOperations.handler(type: RequestPatience.self)
            handler?.stream = self
        }
    }

    /// Why it ends; nil while it goes on, and where the store ended it.
    var reason: End? { state.withLock { $0.reason } }

    func end(_ reason: End) {
        state.withLock { if $0.reason == nil { $0.reason = reason } }
        stopper.stop()
    }

    /// Sends a comment, so that nobody takes the connection for dead: between two events, from any thread.
    func beat() {
        state.withLock { state in
            guard state.isOpen, state.reason == nil, channel.isWritable else { return }
            channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer(string: ":\n\n")), promise: nil)
        }
    }

    /// No comment comes from now on.
    func close() { state.withLock { $0.isOpen = false } }

    /// Closes the connection of a reader who makes the closure wait too long; the reader can go on from the offset that it has.
    func closing(afterSeconds seconds: Int64, _ body: () async throws -> Void) async throws {
        let timer = channel.eventLoop.scheduleTask(in: .seconds(seconds)) { [channel] in channel.close(promise: nil) }
        defer { timer.cancel() }
        try await body()
    }
}

/// The live streams that are open, so that a server that stops can end them.
final class LiveStreams: Sendable {
    private struct State {
        var next = 0
        var open: [Int: OpenStream] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.open.count } }

    /// - Returns: what ``remove(_:)`` takes.
    func add(_ stream: OpenStream) -> Int {
        let (number, isOver) = state.withLock { state in
            state.next += 1
            state.open[state.next] = stream
            return (state.next, state.isOver)
        }
        if isOver { stream.end(.drain) }
        return number
    }

    /// Sends each of them a comment every 15 seconds, some of them every second, until the task is cancelled.
    func beat() async throws {
        for second in 0... {
            try await Task.sleep(for: .seconds(1))
            for (number, stream) in state.withLock({ $0.open }) where number % 15 == second % 15 { stream.beat() }
        }
    }

    func remove(_ number: Int) { state.withLock { $0.open[number] = nil } }

    func endAll() {
        let open = state.withLock { state in
            state.isOver = true
            return Array(state.open.values)
        }
        for stream in open { stream.end(.drain) }
    }
}
