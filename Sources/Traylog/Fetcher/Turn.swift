import TraylogPlatform

/// Lets one caller in at a time, tasks and threads alike, in the order in which they came.
final class Turn: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Monitor(State())

    /// Waits for the turn; whoever has it must ``give()`` it back.
    func take() async {
        await withCheckedContinuation { continuation in
            enter { continuation.resume() }
        }
    }

    /// The same, blocking the calling thread.
    func takeBlocking() {
        let isIn = Monitor(false)
        enter {
            isIn.withLock { $0 = true }
            isIn.signalAll()
        }
        isIn.wait(timeoutMilliseconds: nil, until: { $0 }, { _ in })
    }

    func give() {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.isTaken = !state.waiting.isEmpty
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?()
    }

    private func enter(_ go: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            if state.isTaken { state.waiting.append(go) }
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { go() }
    }
}
