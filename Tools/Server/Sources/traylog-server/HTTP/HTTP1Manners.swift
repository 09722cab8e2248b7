import NIOCore
import NIOHTTP1

/// Keeps rules of HTTP/1 (RFC 9112) that are lost further on, where versions are not known any more.
///
/// A client of HTTP/1.0, or one that asks for it in any spelling, gets an answer that ends with the connection. A body that waits to
/// be asked for (`Expect: 100-continue`) is asked for. A request of HTTP/1.1 without its one `Host` is refused. The answer to a HEAD
/// ends with its head, also where the length of the body is not known.
final class HTTP1Manners: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
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
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let isOld = (head.version.major, head.version.minor) < (1, 1)
        guard isOld || head.headers["host"].count == 1 else {
            isRefused = true
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        let isLast = isOld || !head.isKeepAlive
        if isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
        let isWaiting = !isOld && head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        pending.append(Pending(isOld: isOld, isLast: isLast, isHead: head.method == .HEAD, isWaiting: isWaiting))
        askForBody(context)
        context.fireChannelRead(wrapInboundOut(.head(head)))
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
        case .head(var head):
            guard let request = pending.first else { return context.write(data, promise: promise) }
            // The encoder sends nothing in chunks to those who do not know them.
            if request.isOld { head.version = .http1_0 }
            if request.isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
            hasEnded = request.isHead && !head.headers.contains(name: "content-length")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            if hasEnded { promise?.succeed() } else { context.write(data, promise: promise) }
            hasEnded = false
            _ = pending.popFirst()
            askForBody(context)
        }
    }
}
