/// A computation on a thread of its own.
package struct Concurrent<Answer: Sendable>: Sendable {
    private let answer: Monitor<Result<Answer, any Error>?>
    private let thread: OSThread

    /// Starts a computation.
    ///
    /// - Parameter name: the name of the thread, for debuggers.
    package init(name: String = "traylog-hash", _ body: @escaping @Sendable () throws -> Answer) {
        let answer = Monitor<Result<Answer, any Error>?>(nil)
        self.answer = answer
        thread = OSThread.start(name: name) {
            let result = Result { try body() }
            answer.withLock { $0 = result }
        }
    }

    /// The result, after waiting for it.
    package var result: Result<Answer, any Error> {
        thread.join()
        return answer.withLock { $0 } ?? .failure(CancellationError())
    }
}

/// Lends a value to another thread, for which the caller waits.
package final class Handover<Value>: @unchecked Sendable {
    // @unchecked: one thread waits while the other one uses it.
    package var value: Value

    package init(_ value: Value) { self.value = value }
}

extension Handover where Value == () -> Void {
    /// Runs a long task on a thread of low priority, so that the writer and its callers go first, and waits for it.
    package static func inBackground<Result>(_ body: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        withoutActuallyEscaping(body) { body in
            let work = Handover { result = Swift.Result { try body() } }
            OSThread.start(name: "traylog-rewrite", isBackground: true) { work.value() }.join()
        }
        guard let result else { preconditionFailure("the thread has ended") }
        return try result.get()
    }
}

/// A request to give up a long task.
package final class Cancellation: Sendable {
    private let isCancelled = Monitor(false)

    package init() {}

    package func cancel() { isCancelled.withLock { $0 = true } }

    package func check() throws {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
    }
}
