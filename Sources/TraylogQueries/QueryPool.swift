import TraylogDomain
import TraylogPlatform
import TraylogStates

/// Two threads for the queries of asynchronous callers, so that none of them waits for a disk on a thread of Swift's
/// cooperative pool.
///
/// They are started by the first query, and end when the store is closed.
package final class QueryPool: Sendable {
    private static let threads = 2

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// How many of the first jobs were taken.
        var taken = 0
        var threads: [OSThread] = []
        var isClosing = false

        var isIdle: Bool { taken == waiting.count }

        mutating func next() -> (@Sendable () -> Void)? {
            guard !isIdle else { return nil }
            let job = waiting[taken]
            taken += 1
            // Rarely, so that it costs each job next to nothing.
            if isIdle || taken >= 1_024 {
                waiting.removeFirst(taken)
                taken = 0
            }
            return job
        }
    }

    private let state = Monitor(State())
    /// A process that got the pool by `fork` does not have its threads.
    private let forkCount = ForkGuard.forkCount

    private let observer: (any StoreObserver)?

    package init(observer: (any StoreObserver)? = nil) { self.observer = observer }

    /// Runs a query on one of the threads.
    ///
    /// Queries begin in the order of their calls.
    ///
    /// Cancelling the task does not end it, because queries are short.
    package func run<Answer: Sendable>(
        _ query: @escaping @Sendable () throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let (observer, start) = (observer, observer == nil ? 0 : SystemClock.monotonicNanoseconds())
        let result: Result<Answer, TraylogError> = await withCheckedContinuation { continuation in
            enqueue {
                guard let observer else { return continuation.resume(returning: Result(catching: query)) }
                let begin = SystemClock.monotonicNanoseconds()
                let result = Result(catching: query)
                let end = SystemClock.monotonicNanoseconds()
                observer.observe(.queried(waited: .nanoseconds(begin - start), running: .nanoseconds(end - begin)))
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    private func enqueue(_ job: @escaping @Sendable () -> Void) {
        // In a forked process every query fails at once.
        guard forkCount == ForkGuard.forkCount else { return job() }
        let isOpen = state.withLock { state in
            guard !state.isClosing else { return false }
            state.waiting.append(job)
            if state.threads.isEmpty {
                state.threads = (0..<Self.threads).map { _ in
                    OSThread.start(name: "traylog-query") { [state = self.state] in Self.work(state) }
                }
            }
            return true
        }
        // After closing every query fails at once, so it can run on the caller's thread.
        guard isOpen else { return job() }
        state.signalOne()
    }

    private static func work(_ state: Monitor<State>) {
        while true {
            let job = state.wait(timeoutMilliseconds: nil, until: { !$0.isIdle || $0.isClosing }, { $0.next() })
            guard let job = job ?? nil else { return }
            job()
        }
    }

    /// Answers the waiting queries, and ends the threads.
    package func close() {
        let threads = state.withLock { state in
            state.isClosing = true
            return state.threads
        }
        state.signalAll()
        for thread in threads { thread.join() }
    }
}
