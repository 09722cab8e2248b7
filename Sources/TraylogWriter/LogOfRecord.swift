import TraylogDomain
import TraylogLog
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogStates

/// The log of record of a store that is one copy of it among several.
///
/// What the store decides goes there first, and becomes part of the store only once it stands there.
///
/// The store decides a group of events, as many as have gathered. It hands them over, and waits; queries go on, and the
/// next commands gather. Then it makes the group durable together with its position, publishes it and answers. If the log
/// does not take the group, the store is as it was, and the callers get the error.
///
/// The store calls it on a thread of its own, so that the log answers even while every thread of Swift's shared pool waits for
/// the store. Async functions, default actors, `async let` and task groups inside of it run there, too. Work that leaves this
/// executor needs a free thread of the pool, and stops when there is none: a `Task` of its own, `Task.sleep`, an actor with another
/// executor. Whatever answers a continuation should come from a thread of the log's client, as of its event loop.
@_spi(Replication) public protocol LogOfRecord: Sendable {
    /// The bytes of records that a group has at most. The largest event has some 100 KiB.
    var largestGroupBytes: Int { get }

    /// Makes a group the next part of the log.
    ///
    /// - Parameter records: right after the store's head, in order and without a gap; at least one.
    /// - Returns: where the log holds them.
    /// - Throws: ``StoreFailure`` when the log did not take them, or when nobody knows whether it did. In the second case the
    ///   store's next events may have other records at their place: only whoever implements this can tell, and has the
    ///   store catch up before it decides again.
    func append(_ records: [LogRecord]) async throws(StoreFailure) -> SourcePosition

    /// Makes sure that the store's head is the end of the log: asked when callers are to be told what needs no event, that
    /// they are refused, that nothing would change, or that a command is a duplicate.
    ///
    /// - Parameter head: the store's. A group that the log took may be missing, because the store's disk failed.
    /// - Throws: ``StoreFailure`` when it is not, or when nobody knows; the callers get the error instead.
    func confirmEnd(at head: Seq) async throws(StoreFailure)
}

/// A log of record with the thread on which it is called.
package struct CalledLog: Sendable {
    package let log: any LogOfRecord
    package let executor: LogExecutor

    package init(_ log: any LogOfRecord) throws(ThreadRefused) {
        self.log = log
        executor = try LogExecutor()
    }

    /// Blocks the thread that writes while the log works.
    fileprivate func wait<Value: Sendable>(
        _ body: @escaping @Sendable (any LogOfRecord) async throws(StoreFailure) -> Value
    ) throws(TraylogError) -> Value {
        try Waiting.blocking { [log] (answer: @escaping Waiting.Answer<Value>) in
            Task(executorPreference: executor) {
                do throws(StoreFailure) {
                    answer(.success(try await body(log)))
                } catch {
                    answer(.failure(.failed(error)))
                }
            }
        }
    }
}

/// The thread on which a log of record is called.
///
/// The thread that writes waits for the log. On the shared pool the log might wait for a thread that waits for the writer.
package final class LogExecutor: TaskExecutor {
    @safe
    private struct Job: @unchecked Sendable {
        // @unchecked: a job is run once, by one thread.
        let job: UnownedJob
        let executor: LogExecutor

        func run() { unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
    }

    private struct Queue: Sendable {
        var jobs: [Job] = []
        var isOver = false
    }

    private let queue: Monitor<Queue>

    init() throws(ThreadRefused) {
        let queue = Monitor(Queue())
        self.queue = queue
        _ = try OSThread.start(name: "traylog-log") { Self.live(queue) }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = Job(job: UnownedJob(job), executor: self)
        let isOver = queue.withLock { queue in
            if !queue.isOver { queue.jobs.append(job) }
            return queue.isOver
        }
        // What the log goes on with after the store was closed.
        if isOver { globalConcurrentExecutor.enqueue(job.job) } else { queue.signalAll() }
    }

    /// Lets the thread end; what comes later runs on the shared pool.
    package func close() {
        queue.withLock { $0.isOver = true }
        queue.signalAll()
    }

    private static func live(_ queue: Monitor<Queue>) {
        while true {
            let jobs = queue.wait(timeoutMilliseconds: nil, until: { !$0.jobs.isEmpty || $0.isOver }) { queue in
                let jobs = queue.jobs
                queue.jobs = []
                return jobs
            }
            guard let jobs, !jobs.isEmpty else { return }
            for job in jobs { job.run() }
        }
    }
}

extension RecordBatch {
    /// Its records as another store takes them.
    var logRecords: [LogRecord] {
        get throws(CodecError) {
            var records: [LogRecord] = []
            records.reserveCapacity(count)
            try forEachWhole { (seq, header, payload) throws(CodecError) in
                var bytes: [UInt8] = []
                bytes.reserveCapacity(header.byteCount + payload.byteCount)
                bytes.append(copying: header)
                bytes.append(copying: payload)
                records.append(LogRecord(seq: Seq(seq), bytes: bytes))
            }
            return records
        }
    }
}

extension WriterLoop {
    /// Has the log of record take what the transaction decided.
    func agree(on values: inout TransactionValues) throws {
        guard !values.batch.isEmpty, let (source, position) = try agree(on: values.batch) else {
            return
        }
        values.source = SourcePosition(source: source, position: position)
    }

    /// Has the log of record take events, and returns where they stand; nil for a store without one.
    func agree(on batch: RecordBatch) throws -> (source: String, position: UInt64)? {
        guard let logOfRecord else { return nil }
        let records = try batch.logRecords
        let place = try logOfRecord.wait { (log) throws(StoreFailure) in try await log.append(records) }
        return (place.source, place.position)
    }

    /// The user of a stream; nil for a topic's, for one that was erased, and for none.
    package func user(ofStream number: StreamID) throws -> String? {
        try memory.withLock { memory in
            guard let stream = try memory.store.stream(number), !stream.isTopic, !stream.isErased else { return nil }
            return stream.text
        }
    }

    /// Makes sure that the store's head is the end of the log of record.
    package func confirmEnd() throws {
        guard let logOfRecord else { return }
        let head = memory.withLock { Seq($0.store.head.seq) }
        try logOfRecord.wait { (log) throws(StoreFailure) in try await log.confirmEnd(at: head) }
    }

    /// Makes sure that answers without an event are true at the log's end.
    ///
    /// A group with events proves that by itself.
    func confirmAnswers() throws {
        guard memory.withLock({ $0.transaction.batch.isEmpty }) else { return }
        do {
            try confirmEnd()
        } catch {
            memory.withLock { $0.rollBack() }
            throw error
        }
    }
}

extension Refusal {
    /// A transaction that is larger than what the log of record takes.
    static func tooLarge(bytes: Int, limit: Int) -> Refusal {
        .invalid(
            field: "commands",
            reason: "take \(bytes) bytes as events of one transaction, and the log of record takes \(limit); send fewer"
        )
    }
}
