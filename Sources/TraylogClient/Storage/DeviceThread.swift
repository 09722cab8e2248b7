import TraylogPlatform

/// The thread on which a device's storage is written, so that no sync blocks the cooperative pool.
///
/// An outbox and the client that uses it share one, so that they see each other's state without waiting.
final class DeviceThread: SerialExecutor {
    /// A job with the executor that it is for.
    @safe
    private struct Job: Sendable {
        let job: UnownedJob
        let executor: UnownedSerialExecutor

        func run() { unsafe job.runSynchronously(on: executor) }
    }

    private struct Queue: Sendable {
        var jobs: [Job] = []
        var isOver = false
    }

    private let queue: Monitor<Queue>

    /// - Throws: ``DeviceFailure/Code/inputOutput`` when the system refuses another thread.
    init() throws(DeviceFailure) {
        let queue = Monitor(Queue())
        self.queue = queue
        do {
            _ = try OSThread.start(name: "traylog-device") { Self.run(queue) }
        } catch {
            throw DeviceFailure(.inputOutput, "The outbox cannot be opened: \(error).")
        }
    }

    deinit {
        queue.withLock { $0.isOver = true }
        queue.signalAll()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = unsafe Job(job: UnownedJob(job), executor: asUnownedSerialExecutor())
        queue.withLock { $0.jobs.append(job) }
        queue.signalAll()
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(complexEquality: self) }

    func isSameExclusiveExecutionContext(other: DeviceThread) -> Bool { self === other }

    private static func run(_ queue: Monitor<Queue>) {
        while true {
            let jobs = queue.wait(timeoutMilliseconds: nil, until: { !$0.jobs.isEmpty || $0.isOver }) { queue in
                let jobs = queue.jobs
                queue.jobs = []
                return jobs
            }
            guard let jobs, !jobs.isEmpty else { return }
            // The actor that a job belongs to keeps its executor alive until the job has run.
            for job in jobs { job.run() }
        }
    }
}
