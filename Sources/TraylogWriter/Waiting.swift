import TraylogDomain
import TraylogPlatform

/// Turns a call that answers later, from another thread, into one that waits.
package enum Waiting {
    package typealias Answer<Value: Sendable> = @Sendable (Result<Value, TraylogError>) -> Void

    /// Blocks the thread.
    package static func blocking<Value: Sendable>(
        _ start: (@escaping Answer<Value>) -> Void
    ) throws(TraylogError) -> Value {
        try outcome(start).get()
    }

    /// The same, with what went wrong as a value.
    package static func outcome<Value: Sendable>(
        _ start: (@escaping Answer<Value>) -> Void
    ) -> Result<Value, TraylogError> {
        let answer = Monitor<Result<Value, TraylogError>?>(nil)
        start { result in
            answer.withLock { $0 = result }
            answer.signalAll()
        }
        let result = answer.wait(timeoutMilliseconds: nil, until: { $0 != nil }, { $0 })
        guard let result = result ?? nil else { preconditionFailure("the wait ends with an answer") }
        return result
    }

    /// Suspends the task.
    package static func suspended<Value: Sendable>(
        _ start: (@escaping Answer<Value>) -> Void
    ) async throws(TraylogError) -> Value {
        try await withCheckedContinuation { continuation in
            start { continuation.resume(returning: $0) }
        }.get()
    }

    /// Runs what takes long on a thread of its own, while the task waits.
    ///
    /// - Parameter body: is told whether the task was cancelled.
    package static func onThread<Value: Sendable>(
        named name: String, _ body: @escaping @Sendable (Cancellation) throws(TraylogError) -> Value
    ) async throws(TraylogError) -> Value {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                _ = OSThread.start(name: name) {
                    continuation.resume(returning: Result { () throws(TraylogError) in try body(cancellation) })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }.get()
    }
}
