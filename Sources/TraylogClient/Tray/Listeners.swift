import Synchronization

/// The readers of streams, which remove themselves.
final class Listeners<Value: Sendable>: Sendable {
    private struct State {
        var count = 0
        var continuations: [Int: AsyncStream<Value>.Continuation] = [:]
    }

    private let state = Mutex(State())

    var all: [AsyncStream<Value>.Continuation] {
        state.withLock { $0.continuations.sorted { $0.key < $1.key }.map(\.value) }
    }

    func add(_ continuation: AsyncStream<Value>.Continuation) {
        let number = state.withLock { state in
            state.count += 1
            state.continuations[state.count] = continuation
            return state.count
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.continuations[number] = nil }
        }
    }
}
