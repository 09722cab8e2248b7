import Synchronization
import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogWriter

/// The state that the thread of a running projection shares with its callers.
final class ProjectionRun<Value: Projection>: RunningProjection {
    /// Orders to the thread.
    ///
    /// The lock is held only for moments, because the writer takes it.
    struct Orders: Sendable {
        /// The newest event that may be folded.
        var head: UInt64
        var isStopping = false
        /// The number of erasures, each of which discards the value.
        var erasures = 0
        /// The callers who wait for a rebuild that has not begun.
        var rebuilds: [Waiting.Answer<Void>] = []
        /// The callers who wait for the end.
        var stops: [@Sendable () -> Void] = []
        /// The value is stored, and the thread does nothing more.
        var isEnded = false
    }

    /// Results of the thread.
    ///
    /// The lock is held while a chunk is applied.
    struct Status: Sendable {
        var projected: Projected<Value>
        var origin: ProjectionOrigin
        var storedPosition: UInt64
        var storedBytes: Int
        /// The reason why folding does not go on.
        var foldFailure: TraylogError?
        /// The reason why storing failed.
        var storeFailure: TraylogError?
        var isEnded = false
        var waiters: [Waiter] = []
    }

    /// A caller who waits for an event to be applied.
    struct Waiter: Sendable {
        let seq: UInt64
        let answer: Waiting.Answer<Value>
    }

    let name: ProjectionName
    let queries: Queries
    let writer: Writer
    let observer: (any StoreObserver)?
    let orders: Monitor<Orders>
    let status: Monitor<Status>
    /// The number of the folding thread (``OSThread/currentNumber``); 0 before it runs.
    let folder = Atomic<UInt>(0)

    init(
        _ name: ProjectionName, found: FoundProjection<Value>, queries: Queries, writer: Writer,
        observer: (any StoreObserver)? = nil
    ) {
        self.name = name
        self.queries = queries
        (self.writer, self.observer) = (writer, observer)
        orders = Monitor(Orders(head: 0))
        let position = found.projected.position.rawValue
        status = Monitor(
            Status(
                projected: found.projected, origin: found.projected.origin, storedPosition: position,
                storedBytes: position == 0 ? 0 : found.record?.byteCount ?? 0))
    }

    var source: any SnapshotSource { queries.source }
    var directory: String { source.directory }
    var environment: Environment { source.environment }
    var tables: Tables { source.tables }

    var ended: TraylogError {
        .failed(
            StoreFailure(
                code: .closed, message: "the projection \"\(name.text)\" of \(directory) was stopped; start it again"))
    }

    /// The error for a fold that waits for its own value, which would never come.
    private var fromWithin: TraylogError? {
        guard isWithin else { return nil }
        return .refused(
            .invalid(field: "call", reason: "the projection \"\(name.text)\" asks for itself on its own thread"))
    }

    /// Whether the caller is the thread that folds.
    var isWithin: Bool { folder.load(ordering: .relaxed) == OSThread.currentNumber }

    /// Reads the results of the thread.
    func readStatus<Answer: Sendable>(_ body: (borrowing Status) -> Answer) -> Answer {
        precondition(!isWithin, "The projection \"\(name.text)\" must not ask for itself: see Projection.apply(_:).")
        return status.withLock { body($0) }
    }

    func headMoved(to head: UInt64) {
        orders.withLock { $0.head = max($0.head, head) }
        orders.signalAll()
    }

    func forget() {
        orders.withLock { $0.erasures += 1 }
        orders.signalAll()
    }

    func stopSoon() {
        orders.withLock { $0.isStopping = true }
        orders.signalAll()
    }

    /// Has the thread end, and calls `answer` when it has; from within the fold, at once.
    func stop(_ answer: @escaping @Sendable () -> Void) {
        let waits = orders.withLock { orders in
            orders.isStopping = true
            guard !orders.isEnded, !isWithin else { return false }
            orders.stops.append(answer)
            return true
        }
        orders.signalAll()
        if !waits { answer() }
    }

    /// Answers with the value when it holds `seq` or, without one, the present head.
    func whenApplied(_ seq: Seq?, _ answer: @escaping Waiting.Answer<Value>) {
        if let fromWithin { return answer(.failure(fromWithin)) }
        let target: UInt64
        do {
            target = try reachable(seq)
        } catch {
            return answer(.failure(TraylogError(error, in: directory)))
        }
        let known: Result<Value, TraylogError>? = status.withLock { status in
            if status.isEnded { return .failure(ended) }
            if status.projected.position.rawValue >= target { return .success(status.projected.value) }
            if let failure = status.foldFailure { return .failure(failure) }
            status.waiters.append(Waiter(seq: target, answer: answer))
            return nil
        }
        if let known { answer(known) }
    }

    /// The seq to wait for.
    ///
    /// One beyond the head is refused, because the wait might never end.
    private func reachable(_ seq: Seq?) throws -> UInt64 {
        // Not the head in the orders: the writer publishes a commit a moment before it reports it here.
        let head = try source.head()
        guard let seq else { return head }
        guard seq.rawValue <= head else { throw Refusal.upToBeyondHead(seq, head: Seq(head), field: "through") }
        return seq.rawValue
    }

    /// Answers when the value comes from a new fold of the whole log, and is stored.
    func rebuild(_ answer: @escaping Waiting.Answer<Void>) {
        if let fromWithin { return answer(.failure(fromWithin)) }
        do {
            try environment.checkProcess("rebuild")
        } catch {
            return answer(.failure(TraylogError(error, in: directory)))
        }
        let isTaken = orders.withLock { orders in
            guard !orders.isStopping else { return false }
            orders.rebuilds.append(answer)
            return true
        }
        guard isTaken else { return answer(.failure(ended)) }
        orders.signalAll()
    }
}
