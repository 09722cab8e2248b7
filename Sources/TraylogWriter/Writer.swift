import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// Hands work to the one thread that writes, ``WriterLoop``; safe to use from any thread.
///
/// There are requests to append, which share transactions, and tasks, each of which has the thread for itself.
package final class Writer: Sendable {
    /// Commands that share a transaction at most, and bytes of their payloads, as far as those are known before; one
    /// request may be larger.
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

    private struct Queue {
        var appends: [AppendRequest] = []
        var tasks: [WriterTask] = []
        /// Tasks that change tables by themselves wait until the data file was replaced.
        var holdsWrites = false
        var isClosing = false
        /// How many requests to append the thread waits for, while it waits for a group.
        var quorum = 1
        /// Tasks and groups take turns.
        var isTaskNext = true

        /// Whether it is time for the thread to look.
        var isReady: Bool { appends.count >= quorum || nextTask != nil || isClosing }

        private var nextTask: Int? { tasks.firstIndex { !holdsWrites || !$0.isWrite } }

        mutating func take() -> Work {
            if let nextTask, isTaskNext || appends.isEmpty {
                isTaskNext = false
                return .task(tasks.remove(at: nextTask))
            }
            isTaskNext = true
            return appends.isEmpty ? .close : .append(takeAppends())
        }

        /// Takes the first requests that fit into one transaction: at least one, unless something is in it already.
        ///
        /// - Parameters:
        ///   - commands: that are in it.
        ///   - bytes: of their payloads.
        mutating func takeAppends(besides commands: Int = 0, _ bytes: Int = 0) -> [AppendRequest] {
            let isEmpty = commands == 0
            var (commands, bytes) = (commands, bytes)
            let end = appends.firstIndex { request in
                commands += request.prepared.commands.count
                bytes += request.prepared.payloads.count
                return commands > groupCommands || bytes > groupBytes
            }
            let count = end.map { $0 == 0 && isEmpty ? 1 : $0 } ?? appends.count
            defer { appends.removeFirst(count) }
            return Array(appends.prefix(count))
        }
    }

    private let directory: String
    private let environment: Environment
    private let queue = Monitor(Queue())

    package init(directory: String, environment: Environment) {
        self.directory = directory
        self.environment = environment
    }

    // MARK: For callers

    /// Hands commands over; they are answered once, on the writer's thread.
    package func append(_ request: AppendRequest) {
        if let problem = enqueue({ $0.appends.append(request) }) { request.answer(.failure(problem)) }
    }

    /// Has `body` run on the writer's thread, between two transactions; it is answered there, once.
    ///
    /// - Parameter isWrite: whether it has to wait while the data file is being replaced.
    package func perform<Value: Sendable>(
        isWrite: Bool = false, _ body: @escaping @Sendable (inout WriterLoop) throws -> Value,
        answer: @escaping Waiting.Answer<Value>
    ) {
        let directory = directory
        let task = WriterTask(isWrite: isWrite) { loop in
            do {
                answer(.success(try body(&loop)))
            } catch {
                loop.doubt()
                answer(.failure(TraylogError(error, in: directory)))
            }
        }
        if let problem = enqueue({ $0.tasks.append(task) }) { answer(.failure(problem)) }
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
    private func enqueue(_ add: (inout Queue) -> Void) -> TraylogError? {
        do {
            // A fork leaves the thread, and whoever holds the lock, with the parent.
            try environment.checkProcess("write")
        } catch {
            return TraylogError(error, in: directory)
        }
        let (isOpen, isReady) = queue.withLock { queue in
            if !queue.isClosing { add(&queue) }
            return (!queue.isClosing, queue.isReady)
        }
        guard isOpen else { return .closed(directory) }
        if isReady { queue.signalAll() }
        return nil
    }

    // MARK: For the thread

    /// How many requests to append wait.
    var waiting: Int { queue.withLock { $0.appends.count } }

    /// Waits until so many requests to append are there, or something else, or the time has passed.
    ///
    /// - Returns: whether there is something before the time has passed.
    func gather(_ quorum: Int, nanoseconds: Int) -> Bool {
        gather(quorum, nanoseconds) { $0.isReady }
    }

    /// The same, and takes the requests that are there then, as far as they fit into a transaction.
    ///
    /// - Parameters:
    ///   - commands: that are in it already.
    ///   - bytes: of their payloads.
    func gather(_ quorum: Int, nanoseconds: Int, besides commands: Int, _ bytes: Int) -> [AppendRequest] {
        gather(quorum, nanoseconds) { $0.takeAppends(besides: commands, bytes) }
    }

    private func gather<R>(_ quorum: Int, _ nanoseconds: Int, _ body: (inout Queue) -> sending R) -> sending R {
        func end(_ queue: inout sending Queue) -> sending R {
            defer { queue.quorum = 1 }
            return body(&queue)
        }
        queue.withLock { $0.quorum = quorum }
        return queue.wait(timeoutNanoseconds: nanoseconds, until: { $0.isReady }, end) ?? queue.withLock(end)
    }

    /// Lets requests wait for the next group, before all others.
    func putBack(_ requests: ArraySlice<AppendRequest>) {
        guard !requests.isEmpty else { return }
        queue.withLock { $0.appends.insert(contentsOf: requests, at: 0) }
    }

    /// Waits for work.
    ///
    /// - Parameter milliseconds: how long; nil for ever.
    /// - Returns: nil when there was none for so long.
    func next(within milliseconds: Int?) -> Work? {
        queue.wait(timeoutMilliseconds: milliseconds, until: { $0.isReady }, { $0.take() })
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

    package init(_ prepared: PreparedCommands, mode: Mode, answer: @escaping @Sendable (Outcome) -> Void) {
        self.prepared = prepared
        self.mode = mode
        self.answer = answer
    }
}

/// Something that only the writer's thread may do, between two transactions.
struct WriterTask: Sendable {
    /// Whether it has to wait while the data file is being replaced.
    let isWrite: Bool
    /// Answers by itself.
    let run: @Sendable (inout WriterLoop) -> Void
}

extension TraylogError {
    package static func closed(_ directory: String) -> TraylogError {
        .failed(StoreFailure(code: .closed, message: "\(directory) was closed; open the store again"))
    }
}
