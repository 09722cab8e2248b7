import Synchronization
import TraylogDomain
import TraylogPlatform
import TraylogStates

/// A few threads for what asynchronous callers ask for, so that none of them waits for a disk on a thread of Swift's
/// cooperative pool.
///
/// A thread is started when there is work and none is free, and ends when the store is closed.
package final class WorkPool: Sendable {
    private struct State {
        var queue = WorkQueue()
        var threads: [OSThread] = []
        var idle = 0
        /// Queries that run on threads of their callers.
        var elsewhere = 0
        var isClosing = false
    }

    private let name: String
    private let limit: Int
    private let directory: String
    private let observer: (any StoreObserver)?
    private let state = Monitor(State())
    /// A process that got the pool by `fork` does not have its threads.
    private let forkCount = ForkGuard.forkCount

    /// - Parameters:
    ///   - name: of the threads, for debuggers.
    ///   - limit: how many threads there are at most.
    ///   - directory: the store's, for errors.
    ///   - observer: hears of each query; nil for a pool that runs other work.
    package init(
        name: String = "traylog-query", limit: Int = 2, directory: String, observer: (any StoreObserver)? = nil
    ) {
        (self.name, self.limit, self.directory, self.observer) = (name, limit, directory, observer)
    }

    /// Runs a query on one of the threads.
    ///
    /// The query of a task with a higher priority begins first, and those of equal ones in the order of their calls. One time in
    /// four the query that has waited longest begins, whatever its priority.
    ///
    /// - Parameter query: reads only. It is given up between two parts of a scan when the task is cancelled
    ///   (``Cancellation/checkCurrent()``).
    /// - Throws: failed `cancelled` when the task is cancelled before the query begins or while it scans; failed
    ///   `outOfThreads`.
    package func run<Answer: Sendable>(
        _ query: @escaping @Sendable () throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let cancellation = Cancellation()
        return try await run(cancellation) { () throws(TraylogError) in
            try Cancellation.bind(cancellation, query)
        }
    }

    /// Runs a query on the calling thread, in place of a thread of the pool that has nothing to do.
    ///
    /// That saves two wake-ups of a thread, some 70 µs, where the query itself takes 20. It is for queries that find all they need
    /// in memory: the thread may be one of the few that all tasks share.
    ///
    /// - Returns: nil, without running it, where others wait or as many queries run as the pool has threads.
    /// - Throws: failed `cancelled`, and what `query` throws.
    package func runHere<Answer>(_ query: () throws(TraylogError) -> Answer) throws(TraylogError) -> Answer? {
        guard forkCount == ForkGuard.forkCount else { return nil }
        let isFree = state.withLock { state in
            guard !state.isClosing, state.queue.count == 0, state.idle == state.threads.count, state.elsewhere < limit
            else { return false }
            state.elsewhere += 1
            return true
        }
        guard isFree else { return nil }
        defer { state.withLock { $0.elsewhere -= 1 } }
        guard !Task.isCancelled else { throw .cancelled(directory) }
        guard let observer else { return try query() }
        let begin = SystemClock.monotonicNanoseconds()
        defer {
            let running = Duration.nanoseconds(SystemClock.monotonicNanoseconds() - begin)
            ObserverCall.tell(observer, .queried(waited: .zero, running: running), holding: self)
        }
        return try query()
    }

    /// Runs work that may write on one of the threads.
    ///
    /// - Parameter work: learns when the task is cancelled after it began.
    /// - Throws: as ``run(_:)``.
    package func work<Answer: Sendable>(
        _ work: @escaping @Sendable (Cancellation) throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let cancellation = Cancellation()
        return try await run(cancellation) { () throws(TraylogError) in try work(cancellation) }
    }

    private func run<Answer: Sendable>(
        _ cancellation: Cancellation, _ body: @escaping @Sendable () throws(TraylogError) -> Answer
    ) async throws(TraylogError) -> Answer {
        let directory = directory
        let job = Job(Task.currentPriority.rawValue, body)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                job.wait(continuation)
                // It was cancelled before it had a continuation.
                if cancellation.isCancelled { return job.fail(.cancelled(directory)) }
                enqueue(job)
            }
        } onCancel: {
            cancellation.cancel()
            job.fail(.cancelled(directory))
        }
        return try result.get()
    }

    private func enqueue(_ job: any PooledJob) {
        // In a forked process every query fails at once.
        guard forkCount == ForkGuard.forkCount else { return job.run(nil, holding: self) }
        let outcome = state.withLock { state -> Result<Bool, ThreadRefused> in
            guard !state.isClosing else { return .success(false) }
            if state.idle <= state.queue.count, state.threads.count < limit {
                do throws(ThreadRefused) {
                    state.threads.append(try OSThread.start(name: name) { [self] in live() })
                } catch {
                    // The threads that there are do it.
                    guard !state.threads.isEmpty else { return .failure(error) }
                }
            }
            state.queue.add(job)
            return .success(true)
        }
        switch outcome {
        case .success(true):
            state.signalOne()
            // Both threads may be in an observer that waits for this.
            if observer != nil, let call = ObserverCall.holding(self) {
                call.ifStuck { [directory] in job.fail(.calledFromObserver(directory)) }
            }
        // After closing every query fails at once, so it can run on the caller's thread.
        case .success(false): job.run(nil, holding: self)
        case .failure(let refused): job.fail(TraylogError(refused, in: directory))
        }
    }

    /// The life of a thread.
    private func live() {
        while true {
            state.withLock { $0.idle += 1 }
            let job = state.wait(timeoutMilliseconds: nil, until: { $0.queue.count > 0 || $0.isClosing }) { state in
                state.idle -= 1
                return state.queue.next()
            }
            guard let job = job ?? nil else { return }
            job.run(observer, holding: self)
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

/// Work that waits for a thread: it runs, or fails before it does, once.
protocol PooledJob: AnyObject, Sendable {
    var priority: UInt8 { get }
    func run(_ observer: (any StoreObserver)?, holding pool: WorkPool)
    /// Answers with an error, unless it runs already.
    func fail(_ error: TraylogError)
}

private final class Job<Answer: Sendable>: PooledJob {
    private struct State {
        var body: (@Sendable () throws(TraylogError) -> Answer)?
        var continuation: CheckedContinuation<Result<Answer, TraylogError>, Never>?
    }

    let priority: UInt8
    private let start = SystemClock.monotonicNanoseconds()
    private let state: Mutex<State>

    init(_ priority: UInt8, _ body: @escaping @Sendable () throws(TraylogError) -> Answer) {
        self.priority = priority
        state = Mutex(State(body: body))
    }

    /// Gives the job somebody to answer.
    func wait(_ continuation: CheckedContinuation<Result<Answer, TraylogError>, Never>) {
        state.withLock { $0.continuation = continuation }
    }

    /// The work and whom to answer; nil when the job has run or failed, or has nobody to answer yet.
    private func take() -> (
        body: @Sendable () throws(TraylogError) -> Answer,
        continuation: CheckedContinuation<Result<Answer, TraylogError>, Never>
    )? {
        state.withLock { state in
            guard let body = state.body, let continuation = state.continuation else { return nil }
            (state.body, state.continuation) = (nil, nil)
            return (body, continuation)
        }
    }

    func fail(_ error: TraylogError) {
        take()?.continuation.resume(returning: .failure(error))
    }

    func run(_ observer: (any StoreObserver)?, holding pool: WorkPool) {
        guard let (body, continuation) = take() else { return }
        guard let observer else { return continuation.resume(returning: Result(catching: body)) }
        let begin = SystemClock.monotonicNanoseconds()
        let result = Result(catching: body)
        let end = SystemClock.monotonicNanoseconds()
        ObserverCall.tell(
            observer, .queried(waited: .nanoseconds(begin - start), running: .nanoseconds(end - begin)), holding: pool)
        continuation.resume(returning: result)
    }
}

/// Jobs by priority, and in each in the order in which they came.
struct WorkQueue {
    /// Each of so many jobs that are taken is the one that has waited longest.
    static let turns = 4

    private struct Line {
        let priority: UInt8
        var jobs: [(number: UInt64, job: any PooledJob)] = []
        /// How many of the first jobs were taken.
        var taken = 0

        var isEmpty: Bool { taken == jobs.count }

        mutating func next() -> any PooledJob {
            defer {
                taken += 1
                // Rarely, so that it costs each job next to nothing.
                if isEmpty || taken >= 1_024 {
                    jobs.removeFirst(taken)
                    taken = 0
                }
            }
            return jobs[taken].job
        }
    }

    /// By descending priority.
    private var lines: [Line] = []
    private var added: UInt64 = 0
    private var turn = 0
    private(set) var count = 0

    mutating func add(_ job: any PooledJob) {
        let index = lines.firstIndex { $0.priority <= job.priority } ?? lines.endIndex
        if index == lines.endIndex || lines[index].priority != job.priority {
            lines.insert(Line(priority: job.priority), at: index)
        }
        lines[index].jobs.append((added, job))
        added += 1
        count += 1
    }

    /// Takes the job that is to run next; nil for none.
    mutating func next() -> (any PooledJob)? {
        turn = (turn + 1) % Self.turns
        let waiting = lines.indices.filter { !lines[$0].isEmpty }
        let oldest = waiting.min { lines[$0].jobs[lines[$0].taken].number < lines[$1].jobs[lines[$1].taken].number }
        guard let index = turn == 0 ? oldest : waiting.first else { return nil }
        count -= 1
        return lines[index].next()
    }
}
