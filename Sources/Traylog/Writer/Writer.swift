import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The one thread that writes: drains the queue, decides, commits once for all, answers everybody.
///
/// While it waits for the disk, the next group gathers in the queue.
final class Writer: Sendable {
    /// Commands that share a transaction at most, and bytes of their payloads, as far as those are known before; one
    /// job may be larger.
    static let groupCommands = 2_048
    static let groupBytes = 8 << 20
    /// How long the store must be idle before everything unflushed is written.
    static let idleMilliseconds = 200
    /// The same for what a relaxed commit left to the system.
    static let relaxedMilliseconds = 50

    private struct Queue {
        var jobs: [Job] = []
        var isClosing = false
    }

    private let directory: String
    private let environment: Environment
    private let tables: Tables
    private let shared: Monitor<Shared>
    private let queue = Monitor(Queue())
    private let isRelaxed: Bool

    init(
        directory: String, environment: Environment, tables: Tables, shared: Monitor<Shared>, options: StoreOptions
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        isRelaxed = options.durability == .relaxed
    }

    /// Hands a job over; it is answered once, on the writer's thread.
    func enqueue(_ job: Job) {
        let isOpen = queue.withLock { queue in
            if !queue.isClosing { queue.jobs.append(job) }
            return !queue.isClosing
        }
        guard isOpen else { return job.finish(.failure(.closed(directory))) }
        queue.signalAll()
    }

    /// Lets the thread end once the queue is empty and everything is stored.
    func finishSoon() {
        queue.withLock { $0.isClosing = true }
        queue.signalAll()
    }

    /// The thread's life.
    func run() {
        let shared = shared
        let packer = OSThread.start(name: "traylog-packer") { Writer.pack(shared) }
        defer { packer.join() }
        var loop = WriterLoop(
            directory: directory, environment: environment, tables: tables, shared: shared)
        var lastGroup = (jobs: 0, nanoseconds: Int64(0))
        while true {
            gather(after: lastGroup)
            let (jobs, isClosing) = next(loop)
            if !jobs.isEmpty {
                let start = SystemClock.monotonicNanoseconds()
                loop.perform(jobs)
                lastGroup = (jobs.count, SystemClock.monotonicNanoseconds() - start)
            } else if isClosing {
                loop.storeEverything()
                shared.withLock { $0.isClosed = true }
                shared.signalAll()
                return
            } else {
                lastGroup = (0, 0)
                loop.idle(isRelaxed: isRelaxed)
            }
        }
    }

    /// The life of a second thread: makes slices while the writer waits for the disk, until the store is closed.
    private static func pack(_ shared: Monitor<Shared>) {
        var isClosed = false
        while !isClosed {
            let answer = shared.wait(
                timeoutMilliseconds: nil, until: { $0.flusher.wantsToPrepare || $0.isClosed },
                { shared in
                    if !shared.isClosed { shared.flusher.prepare(core: &shared.core) }
                    return shared.isClosed
                })
            isClosed = answer ?? false
        }
    }

    /// On a slow disk, waits a little for the callers that were just answered to come back.
    ///
    /// Without it the first one back would get a commit of its own, and all others would wait for two.
    private func gather(after last: (jobs: Int, nanoseconds: Int64)) {
        let milliseconds = Int(last.nanoseconds / 8_000_000)
        guard last.jobs > 1, milliseconds > 0 else { return }
        queue.wait(
            timeoutMilliseconds: milliseconds, until: { $0.jobs.count >= last.jobs || $0.isClosing }, { _ in })
    }

    /// The next jobs, or none after a while without any.
    private func next(_ loop: WriterLoop) -> (jobs: [Job], isClosing: Bool) {
        let timeout: Int? =
            if loop.hasUnsynced && isRelaxed {
                Writer.relaxedMilliseconds
            } else if loop.isStoring {
                0
            } else if loop.hasUnstored {
                Writer.idleMilliseconds
            } else {
                nil
            }
        let answer = queue.wait(
            timeoutMilliseconds: timeout, until: { !$0.jobs.isEmpty || $0.isClosing },
            { queue in
                let count = Writer.groupSize(of: queue.jobs)
                let jobs = Array(queue.jobs.prefix(count))
                queue.jobs.removeFirst(count)
                return (jobs, queue.isClosing)
            })
        return answer ?? ([], false)
    }

    private static func groupSize(of jobs: [Job]) -> Int {
        var commands = 0
        var bytes = 0
        for (index, job) in jobs.enumerated() {
            commands += job.prepared.commands.count
            bytes += job.prepared.payloads.count
            if index > 0, commands > groupCommands || bytes > groupBytes { return index }
        }
        return jobs.count
    }
}

extension TraylogError {
    static func closed(_ directory: String) -> TraylogError {
        .failed(StoreFailure(code: .closed, message: "\(directory) was closed; open the store again"))
    }
}
