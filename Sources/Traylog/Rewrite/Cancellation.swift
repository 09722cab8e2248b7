import TraylogPlatform

/// Whether somebody does not want a long work to go on.
final class Cancellation: Sendable {
    private let isCancelled = Monitor(false)

    func cancel() { isCancelled.withLock { $0 = true } }

    func check() throws {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
    }
}
