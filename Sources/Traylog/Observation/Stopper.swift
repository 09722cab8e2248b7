import TraylogObservation
import class TraylogPlatform.Monitor

/// Ends sequences of updates from outside, while their task goes on.
///
/// ```swift
/// let stopper = Stopper()
/// let screen = Task {
///     for try await tray in store.trayUpdates(of: "ann", stopper: stopper) { print(tray.unseen) }
///     print("no longer shown")
/// }
/// stopper.stop()
/// ```
///
/// It ends the sequences of `trayUpdates`, `follow` and `followChanges` that were made with it.
///
/// Cancelling the task would end more than the sequence, and a separate task for the sequence takes some KiB.
public final class Stopper: Sendable {
    private struct State {
        /// The signals of the sequences that tasks go through.
        var signals: [ObjectIdentifier: Signal] = [:]
        var isStopped = false
    }

    private let state = Monitor(State())

    /// Makes a stopper that has stopped nothing.
    public init() {}

    /// Ends all sequences, also those that begin later.
    ///
    /// It may be called from any thread, and again.
    public func stop() {
        let signals = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.signals
        }
        for signal in signals.values { signal.end() }
    }

    /// How many sequences it would end now.
    var count: Int { state.withLock(\.signals.count) }

    /// Ends a sequence when it stops, for as long as the attachment lives.
    func attach(_ signal: Signal) -> Attachment {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.signals[ObjectIdentifier(signal)] = signal }
            return state.isStopped
        }
        if isStopped { signal.end() }
        return Attachment(stopper: self, signal: signal)
    }

    /// A running iteration keeps this; when it is released, the stopper forgets the sequence.
    final class Attachment: Sendable {
        private let stopper: Stopper
        private let signal: Signal

        fileprivate init(stopper: Stopper, signal: Signal) { (self.stopper, self.signal) = (stopper, signal) }

        deinit {
            _ = stopper.state.withLock { $0.signals.removeValue(forKey: ObjectIdentifier(signal)) }
        }
    }
}
