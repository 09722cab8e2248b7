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
