import Hummingbird
import NIOCore
import NIOHTTPTypes
import Synchronization
import Traylog

/// An answer that waits or goes on, as long as what it stands on does: its time, the server, the connection, and the credentials
/// of its request.
///
/// Whose events it shows is the feed's to know, which ends with that person (``Refusal/erased(user:)``).
final class OpenAnswer: Sendable {
    enum End: Equatable, Sendable {
        /// It lasted as long as it may.
        case time
        /// The connection is gone.
        case disconnection
        /// Its reader learns why.
        case reason(EndReason)
    }

    /// Thrown where nothing more may be written.
    struct Ended: Error {}

    private struct State {
        var isOpen = true
        var end: End?
        var whenEnded: (@Sendable () -> Void)?
    }

    /// Ends what the store does for it.
    let stopper = Stopper()
    let credential: Credential
    private let authenticator: Authenticator
    private let channel: any Channel
    /// Whether it is a stream, whose reader hears from time to time that it is alive.
    let isStream: Bool
    private let state = Mutex(State())

    init(_ call: Call, isStream: Bool) {
        (credential, authenticator, channel) = (call.credential, call.service.authenticator, call.channel)
        self.isStream = isStream
        channel.closeFuture.whenComplete { [weak self] _ in self?.end(.disconnection) }
        guard isStream else { return }
        channel.eventLoop.execute { [weak self, channel] in
            let handler = try? channel.pipeline.syncOperations.handler(type: RequestTimeout.self)
            handler?.stream = self
        }
    }

    /// Why it ends; nil while it goes on, and where the store ended it.
    var end: End? { state.withLock { $0.end } }

    func end(_ end: End) {
        let action = state.withLock { state in
            if state.end == nil { state.end = end }
            return state.whenEnded.take()
        }
        stopper.stop()
        action?()
    }

    /// Runs an action when it ends, or at once where it has ended: for what the stopper does not end.
    func whenEnded(_ action: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.end == nil { state.whenEnded = action }
            return state.end != nil
        }
        if isOver { action() }
    }

    /// Ends it if its credentials no longer hold.
    func check() {
        if let reason = authenticator.fault(of: credential) { end(.reason(reason)) }
    }

    /// Sends a part, unless the credentials no longer hold.
    ///
    /// What is sent was read before this look, so that it is nothing that came after them.
    ///
    /// - Throws: ``Ended``.
    func write(_ part: ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
        check()
        guard end == nil else { throw Ended() }
        try await writer.write(part)
    }

    /// Sends a comment, so that nobody takes the connection for dead: between two events, from any thread.
    func beat() {
        state.withLock { state in
            guard state.isOpen, state.end == nil, channel.isWritable else { return }
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

    /// Ends it after some time.
    func ending(afterSeconds seconds: Double, as end: End) -> Scheduled<Void> {
        let time = TimeAmount.nanoseconds(Int64(max(0, min(seconds, 1e9)) * 1e9))
        return channel.eventLoop.scheduleTask(in: time) { self.end(end) }
    }
}

/// The answers that wait or go on, so that they end with what they stand on.
package final class OpenAnswers: Sendable {
    private struct State {
        var next = 0
        var open: [Int: OpenAnswer] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// How many streams there are.
    package var count: Int { state.withLock { $0.open.values.count { $0.isStream } } }

    /// How many long polls wait.
    var polls: Int { state.withLock { $0.open.values.count { !$0.isStream } } }

    /// Runs what waits or goes on; meanwhile the answer ends with its time, its token, its key, and the server.
    ///
    /// - Parameter seconds: the longest that it may last; nil for no limit.
    func during<Value>(
        _ answer: OpenAnswer, atMostSeconds seconds: Int? = nil, _ body: () async throws -> Value
    ) async throws -> Value {
        let (number, isOver) = state.withLock { state in
            state.next += 1
            state.open[state.next] = answer
            return (state.next, state.isOver)
        }
        if isOver { answer.end(.reason(.closing)) }
        // Once it is among the open ones, each change of what it stands on finds it. It may have come before.
        answer.check()
        var timers: [Scheduled<Void>] = []
        if let seconds { timers.append(answer.ending(afterSeconds: Double(seconds), as: .time)) }
        if let time = answer.credential.expiresAt {
            let left = time - Double(Timestamp.now.milliseconds) / 1_000
            timers.append(answer.ending(afterSeconds: left, as: .reason(.tokenExpired)))
        }
        defer {
            state.withLock { $0.open[number] = nil }
            for timer in timers { timer.cancel() }
        }
        return try await body()
    }

    /// Looks at the credentials of all: keys went, a session ended, or somebody was erased.
    package func check() {
        for answer in state.withLock({ Array($0.open.values) }) { answer.check() }
    }

    /// Sends each stream a comment every 15 seconds, some of them every second, until the task is cancelled, and looks at what
    /// time alone may have ended.
    func beat() async throws {
        for second in 0... {
            try await Task.sleep(for: .seconds(1))
            for (number, answer) in state.withLock({ $0.open }) where number % 15 == second % 15 {
                answer.check()
                if answer.isStream { answer.beat() }
            }
        }
    }

    /// The server stops: nobody waits any more.
    func endAll() {
        let open = state.withLock { state in
            state.isOver = true
            return Array(state.open.values)
        }
        for answer in open { answer.end(.reason(.closing)) }
    }
}
