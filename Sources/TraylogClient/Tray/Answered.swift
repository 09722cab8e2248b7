import Synchronization

/// How a question ended that somebody looks at from time to time.
final class Answered: Sendable {
    private let result = Mutex<Bool?>(nil)

    var isComplete: Bool { result.withLock { $0 == true } }
    var hasFailed: Bool { result.withLock { $0 == false } }

    func finish(_ isDone: Bool) { result.withLock { $0 = isDone } }
}
