import Synchronization

/// Tells one observer that there may be something new.
///
/// Raising it twice before the observer looks counts once.
///
/// Raising it never blocks: it hands nothing over, the observer looks when it has time. It is small, because a server may have
/// one for each of its users.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var isEnded = false
        var waiter: CheckedContinuation<Void, Never>?

        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Mutex(State())

    package var isEnded: Bool { state.withLock(\.isEnded) }

    func raise() {
        let waiter = state.withLock { state in
            state.isRaised = true
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Ends the wait, and all later ones.
    package func end() {
        let waiter = state.withLock { state in
            state.isEnded = true
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Waits until the signal is raised, and lowers it.
    ///
    /// Only one task may wait at a time.
    ///
    /// - Returns: false, without waiting, when the signal or the task has ended.
    package func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // Either the handler below finds the waiter, or the task was cancelled before this.
                    guard !state.isRaised, !state.isEnded, !Task.isCancelled else { return true }
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter() }?.resume()
        }
        return state.withLock { state in
            guard state.isRaised, !state.isEnded, !Task.isCancelled else { return false }
            state.isRaised = false
            return true
        }
    }
}
