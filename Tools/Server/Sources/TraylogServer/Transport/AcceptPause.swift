import Foundation
import NIOCore

/// Waits with new connections while the system has no file descriptors, or no memory, for them.
///
/// The channel of the listening socket goes on asking otherwise, and takes a whole processor. The connections wait in the system's
/// queue meanwhile; those that are there are answered.
final class AcceptPause: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Channel

    private static let time = TimeAmount.milliseconds(250)
    /// Failures that are closer together are logged once.
    private static let silence = TimeAmount.minutes(1)
    private static let scarce: Set<CInt> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let log: ServiceLog
    private var isPaused = false
    private var lastFailure: NIODeadline?

    init(log: ServiceLog) { self.log = log }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let failure = error as? IOError, Self.scarce.contains(failure.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        if lastFailure.map({ .now() - $0 > Self.silence }) ?? true {
            let reason = unsafe String(cString: strerror(failure.errnoCode))
            log.write([
                ("accept", "waiting"),
                (
                    "error",
                    .string(
                        "\(reason): new connections wait until others end. Raise the limit of open files (LimitNOFILE, ulimit -n)"
                    )
                ),
            ])
        }
        lastFailure = .now()
        guard !isPaused else { return }
        isPaused = true
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        let own = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.time) {
            own.value.isPaused = false
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
