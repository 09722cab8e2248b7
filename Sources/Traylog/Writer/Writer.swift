import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogLog

/// The one thread that writes: drains the queue, decides, commits once for all, answers everybody.
///
/// While it waits for the disk, the next group gathers in the queue.
final class Writer: Sendable {
    /// Commands that share a transaction at most, and bytes of their payloads, as far as those are known before; one
    /// job may be larger.
    static let groupCommands = 2_048
    static let groupBytes = 8 << 20
    /// From this many commands on a transaction is written aside, while callers are waiting.
    static let asideCommands = 512
    /// How long the store must be idle before everything unflushed is written.
    static let idleMilliseconds = 200
    /// The same for what a relaxed commit left to the system.
    static let relaxedMilliseconds = 50
    /// How long to sleep at most while something will be due: after that the clock is looked at anew.
    static let clockMilliseconds = 10_000
    /// Before a tick that failed is tried again.
    static let tickRetryMilliseconds: Int64 = 10_000

    private struct Queue {
        var jobs: [Job] = []
        var ticks: [TickRequest] = []
        var chores: [Chore] = []
        var tasks: [WriterTask] = []
        /// Chores wait until the data file was replaced.
        var holdsChores = false
        var isClosing = false
        /// What was being written aside has been.
        var isWritten = false
        /// How many jobs the writer waits for, while it waits for a group.
        var quorum = 1

        /// Whether it is time for the writer to look.
        var isReady: Bool {
            jobs.count >= quorum || !hasJobsOnly
        }

        var hasJobsOnly: Bool {
            ticks.isEmpty && tasks.isEmpty && (chores.isEmpty || holdsChores) && !isClosing
        }
    }

    private let directory: String
    private let environment: Environment
    private let tables: Tables
    private let shared: StoreLock
    private let hub: ObservationHub
    private let queue = Monitor(Queue())
    private let isRelaxed: Bool
    private let ticksByItself: Bool
    private let projections: ProjectionBoard

    init(
        directory: String, environment: Environment, tables: Tables, shared: StoreLock, hub: ObservationHub,
        projections: ProjectionBoard, options: StoreOptions
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        self.projections = projections
        self.hub = hub
        isRelaxed = options.durability == .relaxed
        ticksByItself = options.ticking == .automatic
    }

    /// Hands a job over; it is answered once, on the writer's thread.
    func enqueue(_ job: Job) {
        if let problem = enqueue({ $0.jobs.append(job) }) { job.finish(.failure(problem)) }
    }

    /// The same for a tick.
    func enqueue(_ request: TickRequest) {
        if let problem = enqueue({ $0.ticks.append(request) }) { request.finish(.failure(problem)) }
    }

    /// Hands a chore over; it is answered once, on the writer's thread.
    func enqueue(_ chore: Chore) {
        if let problem = enqueue({ $0.chores.append(chore) }) { chore.finish(.failure(problem)) }
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

    /// Does something on the writer's thread, between two transactions, and waits for it.
    func perform(_ body: @escaping @Sendable (inout WriterLoop) throws -> Void) throws(TraylogError) {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Void>) in
            let task = WriterTask(directory: directory, body, answer: answer)
            if let problem = enqueue({ $0.tasks.append(task) }) { task.fail(problem) }
        }
    }

    /// Lets chores wait, or go on.
    func holdChores(_ holds: Bool) {
        queue.withLock { $0.holdsChores = holds }
        queue.signalAll()
    }

    /// Lets the thread end once the queue is empty and everything is stored.
    func finishSoon() {
        queue.withLock { queue in
            queue.isClosing = true
            queue.holdsChores = false
        }
        queue.signalAll()
    }

    /// The thread's life.
    func run() {
        let shared = shared
        let packer = OSThread.start(name: "traylog-packer") { Writer.pack(shared) }
        defer { packer.join() }
        let queue = queue
        let committer = Committer {
            queue.withLock { $0.isWritten = true }
            queue.signalAll()
        }
        defer { committer.close() }
        var loop = WriterLoop(
            directory: directory, environment: environment, tables: tables, shared: shared, hub: hub,
            projections: projections, committer: committer)
        var rhythm = GroupRhythm()
        while true {
            if loop.isWritingAside {
                decideMeanwhile(&loop, &rhythm)
                continue
            }
            // There may have been nothing to write.
            finish(&loop)
            gather(&rhythm)
            let (jobs, ticks, chore, task, isClosing) = next(loop)
            if !jobs.isEmpty {
                perform(jobs, &loop, &rhythm)
            } else if ticks.isEmpty, chore == nil, task == nil, isClosing {
                loop.storeEverything()
                shared.withLock { $0.isClosed = true }
                shared.signalAll()
                return
            } else if ticks.isEmpty {
                rhythm.pause()
                if chore == nil, task == nil { loop.idle(isRelaxed: isRelaxed) }
            }
            if !ticks.isEmpty || chore != nil || task != nil { finish(&loop) }
            for tick in ticks { tick.finish(perform(tick.now ?? now(), &loop)) }
            if !loop.isWriting { tickIfDue(&loop) }
            if let chore { loop.perform(chore) }
            task?.run(&loop)
        }
    }

    /// Performs jobs as one transaction; a large one may still be on its way afterwards.
    private func perform(_ jobs: [Job], _ loop: inout WriterLoop, _ rhythm: inout GroupRhythm) {
        let start = SystemClock.monotonicNanoseconds()
        loop.decide(jobs)
        let commands = loop.decidedCommands
        if commands >= Writer.asideCommands, rhythm.hasOthers || queue.withLock({ !$0.jobs.isEmpty }) {
            return writeAside(&loop)
        }
        loop.write(aside: false)
        let answers = loop.settle()
        let waiting = queue.withLock { $0.jobs.count }
        rhythm.note(
            jobs: jobs.count, commands: commands, waiting: waiting,
            nanoseconds: Int(SystemClock.monotonicNanoseconds() - start))
        for answer in answers { answer.job.finish(answer.outcome) }
    }

    private func writeAside(_ loop: inout WriterLoop) {
        queue.withLock { $0.isWritten = false }
        loop.write(aside: true)
    }

    /// Decides what comes while a transaction is written, and goes on with that when it is.
    private func decideMeanwhile(_ loop: inout WriterLoop, _ rhythm: inout GroupRhythm) {
        let room = Writer.groupCommands - loop.decidedCommands
        let isEmpty = !loop.hasDecided
        let jobs = queue.wait(
            timeoutMilliseconds: nil,
            until: { $0.isWritten || Writer.fitting($0.jobs, room, isEmpty: isEmpty) > 0 },
            { queue in
                let count = queue.isWritten ? 0 : Writer.fitting(queue.jobs, room, isEmpty: isEmpty)
                let jobs = Array(queue.jobs.prefix(count))
                queue.jobs.removeFirst(count)
                return jobs
            })
        if let jobs, !jobs.isEmpty { return loop.decide(jobs) }
        let answers = loop.settle()
        // What is not a job has its turn after this transaction.
        let isUrgent =
            queue.withLock { !$0.hasJobsOnly } || (ticksByItself && loop.nextDue.map { $0 <= now() } ?? false)
        if loop.hasDecided {
            if loop.decidedCommands >= Writer.asideCommands, !isUrgent {
                writeAside(&loop)
            } else {
                loop.write(aside: false)
            }
        } else {
            rhythm.pause()
        }
        for answer in answers { answer.job.finish(answer.outcome) }
    }

    /// Ends what is being written and gives the answers.
    private func finish(_ loop: inout WriterLoop) {
        for answer in loop.settle() { answer.job.finish(answer.outcome) }
    }

    private func now() -> Timestamp { Timestamp(milliseconds: SystemClock.nowMilliseconds()) }

    private func perform(_ now: Timestamp, _ loop: inout WriterLoop) -> Result<TickReport, TraylogError> {
        do {
            return .success(try loop.tick(now))
        } catch {
            return .failure(TraylogError(error, in: directory))
        }
    }

    private func tickIfDue(_ loop: inout WriterLoop) {
        guard ticksByItself, let due = loop.nextDue, due <= now() else { return }
        // A failure shows to whoever appends next; what is due stays so, and is tried again after a pause.
        if case .failure = perform(now(), &loop) {
            loop.postponeTick(to: now().milliseconds + Writer.tickRetryMilliseconds)
        }
    }

    /// The life of a second thread: makes slices while the writer waits for the disk, until the store is closed.
    private static func pack(_ shared: StoreLock) {
        var isClosed = false
        while !isClosed {
            isClosed = shared.wait(
                until: { $0.flusher.wantsToPrepare || $0.isClosed },
                { shared in
                    if !shared.isClosed { shared.flusher.prepare(core: &shared.core) }
                    return shared.isClosed
                })
        }
    }

    /// Waits a little for the callers that were just answered to come back.
    ///
    /// Without it the first ones back would get a commit of their own, and all others would wait for two.
    private func gather(_ rhythm: inout GroupRhythm) {
        guard let (quorum, nanoseconds) = rhythm.wait else { return }
        queue.withLock { $0.quorum = quorum }
        queue.wait(timeoutNanoseconds: nanoseconds, until: \.isReady, { _ in })
        let count = queue.withLock { queue in
            queue.quorum = 1
            return queue.jobs.count
        }
        rhythm.noteGathered(count)
    }

    /// What waits to be done, or nothing after a while without anything.
    private func next(
        _ loop: WriterLoop
    ) -> (jobs: [Job], ticks: [TickRequest], chore: Chore?, task: WriterTask?, isClosing: Bool) {
        let idle: Int? =
            if loop.hasUnsynced && isRelaxed {
                Writer.relaxedMilliseconds
            } else if loop.isStoring {
                0
            } else if loop.hasUnstored {
                Writer.idleMilliseconds
            } else {
                nil
            }
        let due = millisecondsUntilDue(loop)
        let timeout = idle.map { min($0, due ?? $0) } ?? due
        let answer = queue.wait(
            timeoutMilliseconds: timeout, until: \.isReady,
            { queue in
                let count = Writer.groupSize(of: queue.jobs)
                let jobs = Array(queue.jobs.prefix(count))
                queue.jobs.removeFirst(count)
                let ticks = queue.ticks
                queue.ticks = []
                let chore = queue.chores.isEmpty || queue.holdsChores ? nil : queue.chores.removeFirst()
                let task = queue.tasks.isEmpty ? nil : queue.tasks.removeFirst()
                return (jobs, ticks, chore, task, queue.isClosing && queue.jobs.isEmpty)
            })
        return answer ?? ([], [], nil, nil, false)
    }

    /// How long to wait for the next tick of an own; not for ever, because the clock may be set.
    private func millisecondsUntilDue(_ loop: WriterLoop) -> Int? {
        guard ticksByItself, let due = loop.nextDue else { return nil }
        let distance = due.milliseconds.subtractingReportingOverflow(now().milliseconds)
        return distance.overflow
            ? Writer.clockMilliseconds : Int(min(max(distance.partialValue, 0), Int64(Writer.clockMilliseconds)))
    }

    /// How many of the first jobs go into a transaction that has room for so many commands.
    private static func fitting(_ jobs: [Job], _ room: Int, isEmpty: Bool) -> Int {
        guard let first = jobs.first, isEmpty || first.prepared.commands.count <= room else { return 0 }
        return isEmpty ? groupSize(of: jobs) : 1
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
