import Synchronization
import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogStates

/// Hands work to whoever writes; safe to use from any thread.
///
/// There are requests to append, which share transactions, and tasks, each of which has the loop for itself. The writer's
/// thread has the ``WriterLoop``. While it rests, a thread that waits for its append anyway may have it.
package final class Writer: Sendable {
    /// The most commands, and bytes of events, of one transaction; sizes not known yet count at their largest.
    ///
    /// One request may be larger.
    static let groupCommands = 2_048
    static let groupBytes = 8 << 20

    /// The next task of the thread.
    enum Work {
        /// Requests that share a transaction.
        case append([AppendRequest])
        case task(WriterTask)
        /// The queue is empty, and stays so.
        case close
    }

    private let directory: String
    private let environment: Environment
    private let queue = Monitor(WriterQueue())

    package init(directory: String, environment: Environment) {
        self.directory = directory
        self.environment = environment
    }

    // MARK: For callers

    /// Hands commands over; they are answered once, on the thread that writes.
    ///
    /// From within the store's observer they fail: at once where the observer waits on this thread, and after a while where it may
    /// wait for the task that calls.
    package func append(_ request: AppendRequest) {
        if let problem = enqueue({ $0.appends.append(request) }) { return request.withdraw(problem) }
        if let call = ObserverCall.holding(self) {
            call.ifStuck { [directory] in request.withdraw(.calledFromObserver(directory)) }
        }
    }

    /// The same while the task waits.
    ///
    /// A cancelled task withdraws commands that the writer has not taken yet, which then are not stored. Those that it has taken
    /// are stored or refused, and answered so.
    package func append(
        _ prepared: PreparedCommands, mode: AppendRequest.Mode
    ) async -> AppendRequest.Outcome {
        let (directory, withdrawal) = (directory, AppendRequest.Withdrawal())
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let request = AppendRequest(prepared, mode: mode) { continuation.resume(returning: $0) }
                if withdrawal.admits(request, orElse: .cancelled(directory)) { append(request) }
            }
        } onCancel: {
            withdrawal.cancel()?.withdraw(.cancelled(directory))
        }
    }

    /// Performs commands on the calling thread if nobody else is here; hands them over if not.
    ///
    /// The thread waits for the disk then, so it should not be one of Swift's pool. To hand over one append costs some 40 µs
    /// more, because two threads wake each other.
    package func appendHere(_ request: AppendRequest) {
        guard !environment.isInherited, var loop = queue.withLock({ $0.lend() }) else { return append(request) }
        loop.append([request])
        takeBack(loop)
    }

    private func takeBack(_ loop: consuming WriterLoop) {
        let time = loop.nextTime
        var loop: WriterLoop? = loop
        if queue.withLock({ $0.takeBack(&loop, lookingAt: time) }) { queue.signalAll() }
    }

    /// Has `body` run on the writer's thread, between two transactions; it is answered there, once.
    ///
    /// - Parameter isWrite: whether it has to wait while the data file is being replaced.
    package func perform<Value: Sendable>(
        isWrite: Bool = false, _ body: @escaping @Sendable (inout WriterLoop) throws -> Value,
        answer: @escaping Waiting.Answer<Value>
    ) {
        let (directory, call) = (directory, ObserverCall.holding(self))
        let claim = call.map { _ in Claim() }
        let task = WriterTask(isWrite: isWrite) { loop in
            guard claim?.take() != false else { return }
            do {
                answer(.success(try body(&loop)))
            } catch {
                loop.noteInDoubt()
                loop.memory.note(error)
                answer(.failure(TraylogError(error, in: directory)))
            }
        }
        if let problem = enqueue({ $0.tasks.append(task) }) { return answer(.failure(problem)) }
        call?.ifStuck { if claim?.take() == true { answer(.failure(.calledFromObserver(directory))) } }
    }

    /// The same, blocking the calling thread.
    package func perform<Value: Sendable>(
        isWrite: Bool = false, _ body: @escaping @Sendable (inout WriterLoop) throws -> Value
    ) throws(TraylogError) -> Value {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Value>) in
            perform(isWrite: isWrite, body, answer: answer)
        }
    }

    /// Makes a transaction on the writer's thread and waits until it is durable.
    ///
    /// - Parameter body: changes few pages, so that nobody waits long for it.
    package func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws(TraylogError) {
        try perform(isWrite: true) { try $0.write(body) }
    }

    /// Lets the transactions of ``write(_:)`` wait, or go on.
    func setHoldsWrites(_ holds: Bool) {
        queue.withLock { $0.holdsWrites = holds }
        queue.signalAll()
    }

    /// Lets the thread end once the queue is empty and everything is stored.
    package func finishSoon() {
        queue.withLock { queue in
            queue.isClosing = true
            queue.holdsWrites = false
        }
        queue.signalAll()
    }

    /// - Returns: why nobody would answer.
    private func enqueue(_ add: (inout WriterQueue) -> Void) -> TraylogError? {
        do {
            // A fork leaves the thread, and whoever holds the lock, with the parent.
            try environment.checkProcess("write")
        } catch {
            return TraylogError(error, in: directory)
        }
        guard !ObserverCall.isHere(holding: self) else { return .calledFromObserver(directory) }
        let (isOpen, mustSignal) = queue.withLock { queue in
            if !queue.isClosing { add(&queue) }
            // A caller who has the loop will look.
            return (!queue.isClosing, queue.isReady && !queue.isLent)
        }
        guard isOpen else { return .closed(directory) }
        if mustSignal { queue.signalAll() }
        return nil
    }

    // MARK: For the thread

    /// How many requests to append wait.
    var waiting: Int { queue.withLock { $0.appends.count } }

    /// Waits until so many requests to append are there, or something else, or the time has passed.
    ///
    /// - Returns: whether there is something before the time has passed.
    func gather(_ expected: Int, nanoseconds: Int) -> Bool {
        gather(expected, nanoseconds) { $0.isReady }
    }

    /// The same, and takes the requests that are there then, as far as they fit into a transaction.
    ///
    /// - Parameters:
    ///   - commands: that are in it already.
    ///   - bytes: of their events.
    func gather(_ expected: Int, nanoseconds: Int, besides commands: Int, _ bytes: Int) -> [AppendRequest] {
        gather(expected, nanoseconds) { $0.takeAppends(besides: commands, bytes) }
    }

    private func gather<R>(_ expected: Int, _ nanoseconds: Int, _ body: (inout WriterQueue) -> sending R) -> sending R {
        func end(_ queue: inout sending WriterQueue) -> sending R {
            defer { queue.expected = 1 }
            return body(&queue)
        }
        queue.withLock { $0.expected = expected }
        return queue.wait(timeoutNanoseconds: nanoseconds, until: { $0.isReady }, end) ?? queue.withLock(end)
    }

    /// Lets requests wait for the next group, before all others.
    func putBack(_ requests: ArraySlice<AppendRequest>) {
        guard !requests.isEmpty else { return }
        for request in requests { request.giveBack() }
        queue.withLock { $0.appends.insert(contentsOf: requests, at: 0) }
    }

    /// The next work; nil when there is none.
    func next() -> Work? { queue.withLock { $0.isReady ? $0.take() : nil } }

    /// Waits until there is work, or for a time; meanwhile callers may have the loop.
    ///
    /// - Parameter time: by the monotonic clock. A caller may leave the loop with an earlier one.
    func rest(_ loop: consuming WriterLoop, until time: Int64) -> WriterLoop {
        var loop: WriterLoop? = loop
        queue.withLock { $0.rest(&loop, until: time) }
        let nanoseconds = time == .max ? nil : Int(max(time - SystemClock.monotonicNanoseconds(), 0))
        let back = queue.wait(timeoutNanoseconds: nanoseconds, until: { $0.wantsThread }, { $0.wake() })
        if let back { return back }
        queue.withLock { $0.mustLook = true }
        let late = queue.wait(timeoutNanoseconds: nil, until: { $0.wantsThread }, { $0.wake() })
        guard var late else { preconditionFailure("A wait without a time limit ended.") }
        late.pause()
        return late
    }
}

/// Commands that a caller handed to the writer, and where the answer goes.
package final class AppendRequest: Sendable {
    package enum Mode: Sendable {
        /// All commands are stored, or none.
        case atomic
        /// Each by itself; the first refusal ends the request.
        case untilRefusal
        /// Each by itself.
        case skippingRefusals
    }

    package typealias Outcome = Result<[Result<Receipt, Refusal>], TraylogError>

    let prepared: PreparedCommands
    let mode: Mode
    /// When it was handed over, by the monotonic clock.
    let since = SystemClock.monotonicNanoseconds()
    let answer: @Sendable (Outcome) -> Void
    /// Taken by the writer, or withdrawn.
    private let claim = Claim()

    package init(_ prepared: PreparedCommands, mode: Mode, answer: @escaping @Sendable (Outcome) -> Void) {
        self.prepared = prepared
        self.mode = mode
        self.answer = answer
    }

    /// Takes the request for a transaction; false when it was withdrawn.
    func take() -> Bool { claim.take() }

    /// Lets the request wait again, because the transaction had no room for it.
    func giveBack() { claim.giveBack() }

    /// Answers with an error, unless the writer has taken the request.
    func withdraw(_ error: TraylogError) {
        if claim.take() { answer(.failure(error)) }
    }

    /// What cancels the task of a caller.
    package final class Withdrawal: Sendable {
        private let isCancelled = Atomic(false)
        private let request = AtomicLazyReference<AppendRequest>()

        package init() {}

        /// Whether the request may be handed over; a task that was cancelled before is answered with the error.
        func admits(_ request: AppendRequest, orElse error: @autoclosure () -> TraylogError) -> Bool {
            _ = self.request.storeIfNil(request)
            // Both sides change this one value, so the later one sees what the earlier one did before. Each may see the other one's
            // change, and one of them answers.
            guard isCancelled.logicalOr(false, ordering: .acquiringAndReleasing).oldValue else { return true }
            request.withdraw(error())
            return false
        }

        /// - Returns: the request to withdraw; nil before there is one.
        func cancel() -> AppendRequest? {
            _ = isCancelled.exchange(true, ordering: .acquiringAndReleasing)
            return request.load()
        }
    }
}

/// Decides which of two threads answers.
private final class Claim: Sendable {
    private let isTaken = Atomic(false)

    /// - Returns: whether nobody had it.
    func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    func giveBack() { isTaken.store(false, ordering: .releasing) }
}

/// Something that only the holder of the loop may do, between two transactions.
struct WriterTask: Sendable {
    /// Whether it has to wait while the data file is being replaced.
    let isWrite: Bool
    /// Answers by itself.
    let run: @Sendable (inout WriterLoop) -> Void
}
