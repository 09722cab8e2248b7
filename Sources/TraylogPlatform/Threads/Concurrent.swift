import Synchronization

/// A computation on a separate thread, only for speed: if the system refuses another thread, the caller who asks for the
/// result computes it.
package struct Concurrent<Answer: Sendable>: Sendable {
    private let answer: Monitor<Result<Answer, any Error>?>
    private let thread: OSThread?
    private let body: @Sendable () throws -> Answer

    /// Starts a computation.
    package init(_ body: @escaping @Sendable () throws -> Answer) {
        let answer = Monitor<Result<Answer, any Error>?>(nil)
        let cancellation = Cancellation.current
        self.answer = answer
        self.body = body
        thread = try? OSThread.start(name: "traylog-hash") {
            let result = Result { try Cancellation.bind(cancellation, body) }
            answer.withLock { $0 = result }
        }
    }

    /// The result, after waiting for it.
    package var result: Result<Answer, any Error> {
        guard let thread else { return Result { try body() } }
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
    ///
    /// - Throws: what `body` throws; ``ThreadRefused``.
    package static func inBackground<Result>(_ body: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        try withoutActuallyEscaping(body) { body in
            let work = Handover { result = Swift.Result { try body() } }
            try OSThread.start(name: "traylog-rewrite", isBackground: true) { work.value() }.join()
        }
        guard let result else { preconditionFailure("the thread has ended") }
        return try result.get()
    }
}

/// A request to give up a long task.
package final class Cancellation: Sendable {
    /// The request that concerns the work of this thread; nil for work that cannot be given up.
    ///
    /// It is bound around queries and checks, which only read, and not around anything that writes: there the request must not
    /// be noticed after the commit.
    @TaskLocal package static var current: Cancellation?

    private let flag = Atomic(false)

    package init() {}

    package func cancel() { flag.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { flag.load(ordering: .relaxed) }

    /// - Throws: `CancellationError` after ``cancel()``.
    package func check() throws {
        if isCancelled { throw CancellationError() }
    }

    /// Binds a request to the work of this thread while `body` runs.
    package static func bind<Answer, Failure>(
        _ cancellation: Cancellation?, _ body: () throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        let result = $current.withValue(cancellation) { () -> Result<Answer, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Gives up the work of this thread if its caller does not want it any more; some 20 ns.
    ///
    /// A scan calls it once for each part that it reads.
    ///
    /// - Throws: `CancellationError`.
    package static func checkCurrent() throws { try current?.check() }
}
