import Synchronization

/// The outcome of a request that is polled.
final class Answered: Sendable {
    private let result = Mutex<Bool?>(nil)

    var isComplete: Bool { result.withLock { $0 == true } }
    var hasFailed: Bool { result.withLock { $0 == false } }

    func finish(_ isDone: Bool) { result.withLock { $0 = isDone } }
}
