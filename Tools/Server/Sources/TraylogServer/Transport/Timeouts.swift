import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL

/// A connection whose peer must go on: with a request that it began, and with reading what it was sent.
struct TimedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let admission: Admission

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        do {
            try channel.pipeline.syncOperations.addHandler(ConnectionTimeout(admission.connections))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        let value = base.setup(channel: channel, logger: logger)
        // It sees what TLS has decrypted, before anybody knows which protocol that is.
        if let tls = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self) {
            try? channel.pipeline.syncOperations.addHandler(HTTP2HeadLimit(), position: .after(tls))
        }
        return value
    }

    func handle(value: Base.Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Runs the tasks of a connection on its event loop, so that a short request changes threads only where it waits for something else.
///
/// What computes for long leaves it (`Route.isShort`): other connections of the loop would wait.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Looks at the bytes of a connection, and closes it when a head is not complete within 30 seconds, when a peer sends nothing of an
/// unfinished body for 30 seconds, or reads nothing for a minute.
///
/// A body has a limit of its own (`RequestTimeout`), because the server may be the slow side there. A peer that
/// still sends need not read yet: many clients send the whole request first.
final class ConnectionTimeout: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private static let lookEvery = TimeAmount.seconds(10)
    static let longestSilence = TimeAmount.seconds(30)
    private static let longestStall = TimeAmount.seconds(60)
    /// How much of the answers on a connection of HTTP/2 may wait for a peer who reads none of it for ten seconds.
    private static let mostUnread = 1 << 20
    /// How much of a body is read that nobody wants any more, so that the connection can go on.
    private static let longestRemainder = 16 << 20

    /// What the peer has begun.
    enum Stage {
        /// Nothing, or a head of which bytes have come.
        case head
        /// A request whose body has not come whole.
        case body
        /// A request that is being answered.
        case answer
        /// What is left of a request that was answered already.
        case remainder
        /// HTTP/2, whose frames come whole.
        case frames
    }

    var stage = Stage.head
    private let connections: Connections
    private var hasBytes = false
    /// When the first byte of the present head came.
    private var headSince = NIODeadline.now()
    private var remainderBytes = 0
    /// The requests of HTTP/2 that are open on the connection.
    private var streams: [ObjectIdentifier: RequestTimeout] = [:]
    /// The bytes of their answers that waited at the last look.
    private var unreadBefore = 0
    /// The bytes of the first line of a head, as far as they have come.
    private(set) var lineBytes = 0
    /// The bytes that a head began with; nil once it was read.
    private(set) var beginning: ByteBuffer?
    private var hasLine = false
    private var lastRead = NIODeadline.now()
    private var written = 0
    private var flushed = 0
    private var lastProgress = NIODeadline.now()
    private var look: RepeatedTask?

    init(_ connections: Connections) { self.connections = connections }

    func add(_ stream: RequestTimeout) { streams[ObjectIdentifier(stream)] = stream }

    func remove(_ stream: RequestTimeout) { streams[ObjectIdentifier(stream)] = nil }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.opened(context.channel)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let own = NIOLoopBound(self, eventLoop: context.eventLoop)
        // Most requests are a few hundred bytes; what is larger makes the next buffer larger. Each connection keeps one.
        let buffers = AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 65_536)
        try? context.channel.syncOptions?.setOption(.recvAllocator, value: buffers)
        look = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.lookEvery, delay: Self.lookEvery) { _ in
            own.value.check(bound.value)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        look?.cancel()
        look = nil
        connections.closed(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        look?.cancel()
        look = nil
        connections.closed(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead = .now()
        if stage == .head {
            if !hasBytes { (beginning, headSince) = (unwrapInboundIn(data), lastRead) }
            hasBytes = true
            countLine(unwrapInboundIn(data).readableBytesView)
        } else if stage == .remainder {
            remainderBytes += unwrapInboundIn(data).readableBytes
            guard remainderBytes <= Self.longestRemainder else { return context.close(promise: nil) }
        }
        context.fireChannelRead(data)
    }

    private func countLine(_ bytes: ByteBufferView) {
        guard !hasLine else { return }
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        hasLine = end != nil
        lineBytes += (end ?? bytes.endIndex) - bytes.startIndex
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    /// A request has begun, or is over.
    func enter(_ next: Stage) {
        guard stage != .frames else { return }
        stage = next
        (hasBytes, hasLine, lineBytes, beginning) = (false, false, 0, nil)
        remainderBytes = 0
        lastRead = .now()
    }

    private func check(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        let isSilent =
            switch stage {
            case .head: hasBytes && now - headSince >= Self.longestSilence
            case .remainder: now - lastRead >= Self.longestSilence
            default: false
            }
        if isSilent { return context.close(promise: nil) }
        if checkStreams(now) { return context.close(promise: nil) }
        let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if written - buffered > flushed || buffered == 0 || (stage == .body && lastRead > lastProgress) {
            flushed = written - buffered
            lastProgress = now
        } else if now - lastProgress >= Self.longestStall {
            context.close(promise: nil)
        }
    }
}

extension ConnectionTimeout {
    /// Closes requests whose peer reads nothing of their answers for a minute.
    ///
    /// - Returns: whether so much waits on the connection that it has to be closed at once.
    private func checkStreams(_ now: NIODeadline) -> Bool {
        let unread = streams.values.reduce(0) { $0 + $1.unread }
        defer { unreadBefore = unread }
        if unread > Self.mostUnread, unread >= unreadBefore, unreadBefore > 0 { return true }
        for stream in streams.values where stream.unreadSince.map({ now - $0 >= Self.longestStall }) ?? false {
            stream.close()
        }
        return false
    }
}

/// A peer sent nothing of a body for 30 seconds, although the server was reading.
struct SilentSender: Error {}

/// Tells a connection where its requests begin and end, and answers heads that cannot be read with a problem.
///
/// A body that does not come whole with its head must not be silent for 30 seconds.
final class RequestTimeout: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let routes: RouteTable?
    private let admission: Admission
    /// Nil for a request of HTTP/2, whose connection is ``frames``.
    private var connection: ConnectionTimeout?
    private weak var frames: ConnectionTimeout?
    private var channel: (any Channel)?
    /// The bytes of a HTTP/2 answer that the connection could not take yet, and since when none of them went.
    fileprivate private(set) var unread = 0
    fileprivate private(set) var unreadSince: NIODeadline?
    /// The live stream that is the present answer.
    weak var stream: OpenAnswer?
    private var isComplete = true
    /// Since when the server waits for bytes; nil while it has enough.
    private var readingSince: NIODeadline?
    private var look: Scheduled<Void>?
    private var fault: HTTPParserError?
    /// Whether the answer to the fault has begun, and whether it has ended: then nothing else is sent.
    private var isFaultAnswered = false
    private var isOver = false

    /// - Parameter routes: what a path takes, for a request with a method that nobody has heard of.
    init(routes: RouteTable?, admission: Admission) { (self.routes, self.admission) = (routes, admission) }

    func close() { channel?.close(promise: nil) }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = try? context.pipeline.syncOperations.handler(type: ConnectionTimeout.self)
        if connection == nil, let parent = context.channel.parent {
            frames = try? parent.pipeline.syncOperations.handler(type: ConnectionTimeout.self)
            frames?.enter(.frames)
            frames?.add(self)
            channel = context.channel
        }
        let operations = context.pipeline.syncOperations
        if let decoder = try? operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self),
            let codec = try? operations.handler(type: HTTP1ToHTTPServerCodec.self)
        {
            try? operations.addHandler(HTTP1ServerCodec(), position: .after(decoder))
            operations.removeHandler(codec, promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        look?.cancel()
        frames?.remove(self)
        channel = nil
    }

    func read(context: ChannelHandlerContext) {
        if readingSince == nil { readingSince = .now() }
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !isComplete, look == nil { watch(context, for: ConnectionTimeout.longestSilence) }
        context.fireChannelReadComplete()
    }

    /// Looks after a time whether more of the body has come.
    private func watch(_ context: ChannelHandlerContext, for time: TimeAmount) {
        look = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            self.look = nil
            guard !self.isComplete else { return }
            let left = ConnectionTimeout.longestSilence - (self.readingSince.map { .now() - $0 } ?? .zero)
            if left > .zero { return self.watch(context, for: left) }
            context.fireErrorCaught(SilentSender())
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        readingSince = nil
        switch unwrapInboundIn(data) {
        case .head:
            isComplete = false
            connection?.enter(.body)
        case .body: break
        case .end:
            isComplete = true
            look?.cancel()
            look = nil
            switch connection?.stage {
            case .body: connection?.enter(.answer)
            case .remainder: connection?.enter(.head)
            default: break
            }
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A peer who sends no more is gone, or only listens: the system says which once something is sent.
        if case .inputClosed? = event as? ChannelEvent { stream?.beat() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Bytes that come after a head that cannot be read are an error of another kind.
        if fault == nil { fault = error as? HTTPParserError }
        context.fireErrorCaught(error)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else {
            promise?.succeed()
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head) where fault != nil && head.status == .badRequest:
            isFaultAnswered = true
            // A route that met the fault in its body has said so itself.
            guard head.headerFields[.contentType] == nil else { break }
            let problem =
                switch fault {
                case .headerOverflow:
                    tooLong
                case .invalidMethod: unknownMethod
                default: Problem.headMalformed
                }
            var response = problem.response.head
            response.headerFields[.connection] = "close"
            let body = ByteBuffer(bytes: problem.json)
            response.headerFields[.contentLength] = String(body.readableBytes)
            context.write(wrapOutboundOut(.head(response)), promise: promise)
            context.write(wrapOutboundOut(.body(body)), promise: nil)
            return
        case .end:
            isOver = isFaultAnswered
            connection?.enter(isComplete ? .head : .remainder)
        default: break
        }
        context.write(data, promise: counted(unwrapOutboundIn(data), promise, context))
    }

    /// Counts a part of a HTTP/2 answer as unread until the connection has taken it: the peer says how much it takes.
    private func counted(
        _ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        guard frames != nil, case .body(let bytes) = part else { return promise }
        let count = bytes.readableBytes
        unread += count
        if unreadSince == nil { unreadSince = .now() }
        let told = promise ?? context.eventLoop.makePromise()
        told.futureResult.assumeIsolated().whenComplete { _ in
            self.unread -= count
            self.unreadSince = self.unread > 0 ? .now() : nil
        }
        return told
    }

    private var tooLong: Problem {
        admission.note(.head)
        return connection.map { $0.lineBytes > Service.longestTarget } ?? false ? .targetTooLong : .headTooLarge
    }

    /// The answer to a method that the parser does not know, as far as the request says to which path it went.
    private var unknownMethod: Problem {
        let bytes = connection?.beginning?.readableBytesView.prefix {
            $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n")
        }
        let words = String(decoding: bytes ?? [], as: UTF8.self).split(separator: " ")
        guard let routes, words.count == 3, words[1].hasPrefix("/"), let method = HTTPRequest.Method(String(words[0]))
        else { return .headMalformed }
        do throws(Problem) {
            _ = try routes.find(method, path: words[1].prefix { $0 != "?" })
            return .headMalformed
        } catch {
            return error
        }
    }
}
