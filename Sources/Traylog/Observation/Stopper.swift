import TraylogObservation
import class TraylogPlatform.Monitor

/// Ends sequences of updates from outside, where their task goes on: ``TrayUpdates``, ``ChangeFollower`` and ``LogFollower`` that
/// were made with it.
///
/// Cancelling the task would end more than the sequence, and a task only for the sequence takes some KiB.
public final class Stopper: Sendable {
    private struct State {
        var signals: [Signal] = []
        var isStopped = false
    }

    private let state = Monitor(State())

    /// Makes one that has stopped nothing.
    public init() {}

    /// Ends all sequences, also those that begin later.
    ///
    /// It may be called from any thread, and again.
    public func stop() {
        let signals = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.signals
        }
        for signal in signals { signal.end() }
    }

    func attach(_ signal: Signal) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.signals.append(signal) }
            return state.isStopped
        }
        if isStopped { signal.end() }
    }
}
