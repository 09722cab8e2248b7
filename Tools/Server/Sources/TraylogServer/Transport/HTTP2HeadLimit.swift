import NIOCore

/// Answers 431 to a request of HTTP/2 whose head is too large.
///
/// The library that reads frames ends the connection then, without an answer. It stands between this handler and the requests, so
/// this one sees of which request the head is, and when the library gives up: in place of its last frame (GOAWAY) it sends the
/// answer, and a GOAWAY without a fault. The connection is read on for a second before it is closed, because the answer would be
/// lost with bytes that nobody has read.
final class HTTP2HeadLimit: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let frameHead = 9
    private static let (data, headers, goAway, continuation): (UInt8, UInt8, UInt8, UInt8) = (0, 1, 7, 9)
    private static let lingering = TimeAmount.seconds(1)
    /// A packed head of fewer bytes is not too large, whatever else is wrong with it.
    private static let fewestBytes = Service.longestHead / 2

    private enum State {
        /// So many bytes of the preface have come.
        case preface(Int)
        case frames
        /// Another protocol.
        case other
        /// The answer was sent; nothing else is.
        case over
    }

    private var state = State.preface(0)
    /// The bytes of a frame's head, as far as they have come.
    private var head: [UInt8] = []
    /// Bytes of the frame that are to come.
    private var left = 0
    /// Whose head the frame has that is being read, and how many bytes of that have been announced; nil for other frames.
    private var block: (stream: UInt32, bytes: Int)?
    private var isPassingOn = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if case .preface(let count) = state { readPreface(&bytes, from: count, context) }
        switch state {
        case .preface, .over: break
        case .other: context.fireChannelRead(wrapInboundOut(bytes))
        case .frames: passOn(&bytes, context)
        }
    }

    private func readPreface(_ bytes: inout ByteBuffer, from count: Int, _ context: ChannelHandlerContext) {
        let due = Self.preface[count...].prefix(bytes.readableBytes)
        let isOwn = bytes.readableBytesView.prefix(due.count).elementsEqual(due)
        // What came before was the preface so far, and was handed on.
        guard isOwn else { return state = .other }
        let end = count + due.count
        state = end == Self.preface.count ? .frames : .preface(end)
        if let part = bytes.readSlice(length: due.count) { context.fireChannelRead(wrapInboundOut(part)) }
    }

    /// Hands on what came, so that each frame with a part of a head is the last one of what is handed on together.
    private func passOn(_ bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        var rest = bytes
        var count = 0
        while rest.readableBytes > 0 {
            if left == 0 {
                let part = rest.readBytes(length: min(Self.frameHead - head.count, rest.readableBytes)) ?? []
                head += part
                count += part.count
                guard head.count == Self.frameHead else { break }
                beginFrame()
            }
            let step = min(left, rest.readableBytes)
            rest.moveReaderIndex(forwardBy: step)
            count += step
            left -= step
            guard left == 0, block != nil else { continue }
            guard handOn(count, of: &bytes, context) else { return }
            count = 0
        }
        _ = handOn(count, of: &bytes, context)
    }

    private func beginFrame() {
        left = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        switch head[3] {
        case Self.headers: block = (stream, left)
        case Self.continuation: block = (stream, (block?.bytes ?? 0) + left)
        default: block = nil
        }
        head.removeAll(keepingCapacity: true)
    }

    /// - Returns: false when the answer was sent for it.
    private func handOn(_ count: Int, of bytes: inout ByteBuffer, _ context: ChannelHandlerContext) -> Bool {
        guard count > 0, let part = bytes.readSlice(length: count) else { return true }
        isPassingOn = true
        context.fireChannelRead(wrapInboundOut(part))
        isPassingOn = false
        if case .over = state { return false }
        return true
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .over = state {
            promise?.succeed()
            return
        }
        guard isPassingOn, let block, block.bytes >= Self.fewestBytes, isFault(unwrapOutboundIn(data)) else {
            context.write(data, promise: promise)
            return
        }
        state = .over
        context.writeAndFlush(wrapOutboundOut(Self.answer(to: block.stream)), promise: promise)
    }

    /// Whether it is a GOAWAY that says that something is wrong.
    private func isFault(_ frame: ByteBuffer) -> Bool {
        let start = frame.readerIndex
        return frame.getInteger(at: start + 3, as: UInt8.self) == Self.goAway
            && frame.getInteger(at: start + Self.frameHead + 4, as: UInt32.self) ?? 0 != 0
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard case .over = state else { return context.close(mode: mode, promise: promise) }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.lingering) { bound.value.close(mode: mode, promise: promise) }
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .over = state { context.read() } else { context.fireChannelReadComplete() }
    }

    /// The problem as an answer to one request, and the end of the connection.
    private static func answer(to stream: UInt32) -> ByteBuffer {
        let problem = Problem.headTooLarge
        let body = problem.json
        // Literals that change no table of the peer's (RFC 7541, 6.2.2), with names of the static one: status, type, length, cache.
        var fields: [UInt8] = [0x08] + text("\(problem.status.code)")
        fields += [0x0f, 31 - 15] + text("application/problem+json")
        fields += [0x0f, 28 - 15] + text("\(body.count)")
        fields += [0x0f, 24 - 15] + text("no-store")
        var bytes = ByteBuffer()
        // END_HEADERS, END_STREAM.
        bytes.write(frame: headers, flags: 0x4, stream, fields)
        bytes.write(frame: data, flags: 0x1, stream, body)
        let last = (0..<4).map { UInt8(truncatingIfNeeded: stream >> UInt32(24 - 8 * $0)) }
        bytes.write(frame: goAway, flags: 0, 0, last + [0, 0, 0, 0])
        return bytes
    }

    /// A text of fewer than 127 bytes, as it is.
    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}

extension ByteBuffer {
    fileprivate mutating func write(frame type: UInt8, flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
        writeBytes([
            UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 0xff), UInt8(payload.count & 0xff), type, flags,
        ])
        writeInteger(stream)
        writeBytes(payload)
    }
}
