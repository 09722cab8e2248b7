import Synchronization
import TraylogCLibrary

/// An asynchronous call that goes on until the program is interrupted.
final class EndlessCall: Sendable {
    private let notes: (reading: Descriptor, writing: Descriptor)
    private let failure = Mutex<(any Error)?>(nil)

    /// How long the call may take to end after an interruption, because it may hang in a write that nobody reads.
    private static let timeoutMilliseconds: Int32 = 1_000

    private init() throws(SystemFailure) { notes = try Descriptor.pipe() }

    /// Runs `body` until it returns or throws, or until SIGINT or SIGTERM comes: then its task is cancelled, and this
    /// returns in the usual way.
    ///
    /// When the reader of `output` goes away, the process ends by SIGPIPE, even if there is nothing to write.
    static func run(writingTo output: Descriptor, _ body: @escaping @Sendable () async throws -> Void) throws {
        let call = try EndlessCall()
        Interruption.tell(call.notes.writing)
        let task = Task.detached {
            do {
                try await body()
            } catch {
                call.failure.withLock { $0 = error }
            }
            try? call.notes.writing.write([0])
        }
        call.waitForNote(orEndOf: output)
        task.cancel()
        if Interruption.hasCome { _ = call.notes.reading.hasInput(withinMilliseconds: timeoutMilliseconds) }
        if let failure = call.failure.withLock({ $0 }) { throw failure }
    }

    /// Waits for the end of the call, or for a signal.
    private func waitForNote(orEndOf output: Descriptor) {
        var requests = [
            pollfd(fd: notes.reading.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: output.number, events: 0, revents: 0),
        ]
        while unsafe poll(&requests, nfds_t(requests.count), -1) < 0 || requests[0].revents == 0 {
            if requests[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { output.endByBrokenPipe() }
        }
        var note: [UInt8] = [0]
        _ = try? notes.reading.read(into: &note, from: 0)
    }
}
