import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
@_spi(Wire) import Traylog

/// Sends a request on to another node, with its caller's credentials, and its answer back.
///
/// Lines are passed on as they come; other bodies are read first, so that nobody reads on from the connection once the answer is
/// there.
enum Forwarding {
    /// Says that a node has sent the request on: the next one does not.
    static let mark = HTTPField.Name("Traylog-Forwarded")!

    /// About one connection, so no part of the request.
    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host",
        "content-length", "expect",
    ]
    /// Headers that this node writes itself.
    private static let own: Set<String> = ["x-request-id", "server", "date"]

    /// - Parameters:
    ///   - base: the node's URL.
    ///   - whole: the body; nil to pass its parts on as they come.
    /// - Throws: ``Problem`` 503 when the node cannot be reached, or was lost before it answered.
    static func forward(_ request: Request, to base: String, body whole: [UInt8]?) async throws -> Response {
        var outgoing = HTTPClientRequest(url: base + (try request.target()))
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headers where !hopByHop.contains(field.name.canonicalName) {
            outgoing.headers.add(name: field.name.rawName, value: field.value)
        }
        outgoing.headers.add(name: mark.rawName, value: "1")
        var relay: BodyRelay?
        if let whole {
            if !whole.isEmpty { outgoing.body = .bytes(whole) }
        } else {
            let made = BodyRelay(request.body)
            outgoing.body = .stream(made, length: .unknown)
            relay = made
        }
        let answer: HTTPClientResponse
        do {
            answer = try await client.execute(outgoing, deadline: .distantFuture)
        } catch {
            await relay?.end()
            // Whether it was performed is known only to a request with a key, when it is sent again.
            throw Problem.unavailable(
                "the node that decides, \(base), did not answer; send it again, with the same key: nothing happens twice then"
            )
        }
        var headers = HTTPFields()
        for (name, value) in answer.headers
        where !hopByHop.contains(name.lowercased()) && !own.contains(name.lowercased()) {
            if let name = HTTPField.Name(name) { headers.append(HTTPField(name: name, value: value)) }
        }
        let length = answer.headers.first(name: "content-length").flatMap { WireNumber($0)?.within(0...Int.max) }
        let body = ResponseBody(contentLength: length) { [relay] writer in
            do {
                for try await part in answer.body { try await writer.write(part) }
                try Task.checkCancellation()
            } catch {
                await relay?.end()
                throw error
            }
            await relay?.end()
            try await writer.finish(nil)
        }
        return Response(
            status: HTTPResponse.Status(code: Int(answer.status.code), reasonPhrase: answer.status.reasonPhrase),
            headers: headers, body: body)
    }

    /// Connects within two seconds, and gives up on an owner that says nothing for half a minute.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(2)
        configuration.timeout.read = .seconds(30)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.httpVersion = .http1Only
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()
}

/// The parts of a body, read one by one as they are asked for, by a task that can be ended: a body has one reader at a time, and
/// a client whose request has failed may go on reading.
private struct BodyRelay: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let parts: AsyncThrowingStream<ByteBuffer, any Error>
    private let wishes: AsyncStream<Void>.Continuation
    private let reader: Task<Void, Never>

    init(_ body: RequestBody) {
        let (parts, told) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
        let (asked, wishes) = AsyncStream.makeStream(of: Void.self)
        (self.parts, self.wishes) = (parts, wishes)
        reader = Task {
            do {
                let source = BodyParts(body)
                for await _ in asked {
                    guard let part = try await source.next() else { break }
                    told.yield(part)
                }
                told.finish()
            } catch {
                told.finish(throwing: error)
            }
        }
    }

    /// Nobody reads from the body afterwards.
    func end() async {
        wishes.finish()
        reader.cancel()
        await reader.value
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var parts: AsyncThrowingStream<ByteBuffer, any Error>.AsyncIterator
        fileprivate let wishes: AsyncStream<Void>.Continuation

        mutating func next() async throws -> ByteBuffer? {
            wishes.yield()
            guard let part = try await parts.next() else {
                // A stream ends for a cancelled task. The owner would take what it has for the whole body.
                try Task.checkCancellation()
                return nil
            }
            return part
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(parts: parts.makeAsyncIterator(), wishes: wishes)
    }
}
