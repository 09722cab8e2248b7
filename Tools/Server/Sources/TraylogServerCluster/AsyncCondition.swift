import TraylogServer
import Dispatch
import Synchronization

/// Wakes tasks that wait for something new.
final class AsyncCondition: Sendable {
    private struct State {
        var signals: UInt64 = 0
        var next: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    private static let clock = DispatchQueue(label: "traylog.condition")

    /// How often it was signalled: taken before looking, so that no signal between looking and waiting is missed.
    var signals: UInt64 { state.withLock { $0.signals } }

    func signal() {
        let waiting = state.withLock { state in
            state.signals += 1
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for task in waiting { task.resume() }
    }

    /// Waits until it is signalled more often than `signals`, or until the time is over.
    func wait(beyond signals: UInt64, atMost time: Duration) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let number = state.withLock { state -> UInt64? in
                guard state.signals == signals else { return nil }
                state.next += 1
                state.waiting[state.next] = continuation
                return state.next
            }
            guard let number else { return continuation.resume() }
            Self.clock.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) { [weak self] in
                self?.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
            }
        }
    }
}
