/// Whether somebody does not want a long work to go on.
package final class Cancellation: Sendable {
    private let isCancelled = Monitor(false)

    package init() {}

    package func cancel() { isCancelled.withLock { $0 = true } }

    package func check() throws {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
    }
}
