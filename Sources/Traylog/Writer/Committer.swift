import TraylogPlatform

/// A thread that writes a large transaction, while the writer decides the next one.
final class Committer: Sendable {
    typealias Outcome = Result<Void, any Error>

    private struct State {
        var body: (@Sendable () throws -> Void)?
        var outcome: Outcome?
        var thread: OSThread?
        var isClosed = false
    }

    private let state = Monitor(State())
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: called on the thread whenever something was written.
    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    /// Has `body` run on the thread; what was started before has ended.
    func start(_ body: @escaping @Sendable () throws -> Void) {
        let (monitor, onEnd) = (state, onEnd)
        state.withLock { state in
            precondition(state.body == nil && state.outcome == nil, "One transaction is written at a time.")
            state.body = body
            guard state.thread == nil else { return }
            state.thread = OSThread.start(name: "traylog-commit") { Committer.run(monitor, onEnd) }
        }
        state.signalAll()
    }

    /// Waits for the end of what was started.
    func finish() -> Outcome {
        let outcome: Outcome? =
            state.wait(timeoutMilliseconds: nil, until: { $0.outcome != nil }) { state in
                defer { state.outcome = nil }
                return state.outcome
            } ?? nil
        guard let outcome else { preconditionFailure("the wait ends with an outcome") }
        return outcome
    }

    /// Ends the thread; nothing is being written.
    func close() {
        let thread = state.withLock { state in
            state.isClosed = true
            return state.thread
        }
        state.signalAll()
        thread?.join()
    }

    private static func run(_ state: Monitor<State>, _ onEnd: @Sendable () -> Void) {
        while let outcome = runNext(state) {
            state.withLock { $0.outcome = outcome }
            state.signalAll()
            onEnd()
        }
    }

    /// What the body holds is given up before its outcome is known, so that the writer fills the same memory again.
    private static func runNext(_ state: Monitor<State>) -> Outcome? {
        let body: (@Sendable () throws -> Void)? =
            state.wait(
                timeoutMilliseconds: nil, until: { $0.body != nil || $0.isClosed },
                { state in
                    defer { state.body = nil }
                    return state.body
                }) ?? nil
        guard let body else { return nil }
        return Outcome { try body() }
    }
}
