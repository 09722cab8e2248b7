import TraylogDomain
import TraylogPlatform

/// Starts a thread of a test; a system without room for one fails the whole run.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) -> OSThread {
    do {
        return try OSThread.start(name: name, body)
    } catch {
        fatalError("\(error)")
    }
}

/// Runs a blocking closure on a separate thread, while the task waits.
package func onThread<Value: Sendable, Failure>(
    _ name: String = "test", _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
        _ = startThread(name) {
            do throws(Failure) {
                continuation.resume(returning: .success(try body()))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
    return try result.get()
}

/// Runs a closure that does not wait as a task: in it, the calls of a store are those that block.
package func synchronously<Answer, Failure>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
    try body()
}
