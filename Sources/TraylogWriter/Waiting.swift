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
}
