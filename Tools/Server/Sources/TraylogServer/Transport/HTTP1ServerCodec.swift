import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Translates between HTTP/1 (RFC 9112) and requests of any version, and keeps the rules that are lost further on.
///
/// A client of HTTP/1.0, or one that asks for it in any spelling, gets an answer that ends with the connection. A body that waits to
/// be asked for (`Expect: 100-continue`) is asked for. A request of HTTP/1.1 without its one `Host` is refused. The answer to a HEAD
/// ends with its head, also where the length of the body is not known.
final class HTTP1ServerCodec: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Pending {
        /// Before HTTP/1.1.
        let isOld: Bool
        let isLast: Bool
        let isHead: Bool
        var isWaiting: Bool
    }

    /// Requests whose answers have not ended, oldest first.
    private var pending: CircularBuffer<Pending> = []
    private var isRefused = false
    /// Whether the encoder would end the present answer with a chunk that must not be sent.
    private var hasEnded = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            do {
                let request = try request(head)
                askForBody(context)
                context.fireChannelRead(wrapInboundOut(.head(request)))
            } catch {
                isRefused = true
                context.fireErrorCaught(error)
            }
        case .body(let body): context.fireChannelRead(wrapInboundOut(.body(body)))
        case .end(let trailers):
            context.fireChannelRead(wrapInboundOut(.end(trailers.map { HTTPFields($0, splitCookie: false) })))
        }
    }

    private func request(_ head: HTTPRequestHead) throws -> HTTPRequest {
        // Other forms than a path are rare, and take the long way.
        var request =
            if head.uri.utf8.first == UInt8(ascii: "/") {
                HTTPRequest(
                    method: try HTTPRequest.Method(head.method), scheme: "http",
                    authority: head.headers.first(name: "host"),
                    path: head.uri, headerFields: HTTPFields(head.headers, splitCookie: false))
            } else {
                try HTTPRequest(head, secure: false, splitCookie: false)
            }
        let isOld = (head.version.major, head.version.minor) < (1, 1)
        // One host has become the authority; more are left.
        guard isOld || (request.authority != nil && !request.headerFields.contains(.host)) else {
            throw HTTPParserError.invalidHeaderToken
        }
        let isLast = isOld || !head.isKeepAlive
        if isLast { request.headerFields[.connection] = "close" }
        let isWaiting = !isOld && request.headerFields[values: .expect].contains { $0.lowercased() == "100-continue" }
        pending.append(Pending(isOld: isOld, isLast: isLast, isHead: head.method == .HEAD, isWaiting: isWaiting))
        return request
    }

    /// Asks for the body of the request whose turn it is.
    private func askForBody(_ context: ChannelHandlerContext) {
        guard pending.first?.isWaiting ?? false else { return }
        pending[pending.startIndex].isWaiting = false
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let response):
            var head = HTTPResponseHead(response)
            guard let request = pending.first else {
                return context.write(wrapOutboundOut(.head(head)), promise: promise)
            }
            // The encoder sends nothing in chunks to those who do not know them.
            if request.isOld { head.version = .http1_0 }
            if request.isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
            hasEnded = request.isHead && !head.headers.contains(name: "content-length")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body(let body): context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: promise)
        case .end(let trailers):
            if hasEnded {
                promise?.succeed()
            } else {
                context.write(wrapOutboundOut(.end(trailers.map(HTTPHeaders.init))), promise: promise)
            }
            hasEnded = false
            _ = pending.popFirst()
            askForBody(context)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let host = Self("Host")!
}
