import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogLog

/// What the writer's thread does with jobs, and between them.
struct WriterLoop {
    let directory: String
    let environment: Environment
    let tables: Tables
    let shared: StoreLock
    let projections: ProjectionBoard
    let announcer: Announcer
    /// What a failure left to be made sure of; see ``recover()``.
    var doubts = Doubts()

    /// Stored states are behind the log.
    private(set) var hasUnstored: Bool
    /// A relaxed commit is not on disk yet.
    private(set) var hasUnsynced = false
    /// The store is idle and being brought up to the log.
    private(set) var isStoring = false
    /// What was decided for the next transaction.
    private var decided: [(job: Job, outcome: Job.Outcome)] = []
    /// The transaction before it, until its end is dealt with.
    private var written: Written?
    private let committer: Committer

    private struct Written {
        let answers: [(job: Job, outcome: Job.Outcome)]
        /// Nil for one that has no events.
        let newHead: UInt64?
        /// Nil while the committer writes it.
        var outcome: Committer.Outcome?
    }

    /// Commands of the next transaction so far.
    var decidedCommands: Int { decided.reduce(0) { $0 + $1.job.prepared.commands.count } }
    var hasDecided: Bool { !decided.isEmpty }
    /// A transaction is being written, or was and is not visible yet.
    var isWriting: Bool { written != nil }
    /// The committer writes it.
    var isWritingAside: Bool { written.map { $0.outcome == nil } ?? false }

    /// When the next item expires or wakes; nil when none does.
    var nextDue: Timestamp? { shared.withLock { $0.core.nextDue } }

    /// Does not look at what is due before a time.
    func postponeTick(to milliseconds: Int64) {
        shared.withLock { $0.core.nextDue = Timestamp(milliseconds: milliseconds) }
    }

    init(
        directory: String, environment: Environment, tables: Tables, shared: StoreLock, hub: ObservationHub,
        projections: ProjectionBoard, committer: Committer
    ) {
        self.committer = committer
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        self.projections = projections
        announcer = Announcer(directory: directory, hub: hub, head: shared.withLock { $0.core.head.seq })
        hasUnstored = shared.withLock { $0.core.tail.count > 0 }
    }

    /// Looks anew whether stored states are behind the log.
    mutating func markUnstored() {
        hasUnstored = shared.withLock { $0.core.tail.count > 0 }
    }

    // MARK: Jobs

    /// Decides the jobs, as part of the next transaction.
    mutating func decide(_ jobs: [Job]) {
        isStoring = false
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let isFirst = decided.isEmpty
        let outcomes: [Job.Outcome]
        do {
            // While a transaction is being written, nothing failed before it.
            if written == nil { try recover() }
            let directory = directory
            outcomes = shared.withLock { shared in
                if isFirst { shared.group.begin(shared.core, now: now) }
                return jobs.map { shared.perform($0, directory: directory) }
            }
        } catch {
            let failure = TraylogError(error, in: directory)
            outcomes = jobs.map { _ in .failure(failure) }
        }
        for (job, outcome) in zip(jobs, outcomes) { decided.append((job, outcome)) }
    }

    /// Writes what was decided.
    ///
    /// - Parameter aside: whether the committer does it, so that the next transaction can be decided meanwhile; the one
    ///   before has ended.
    mutating func write(aside: Bool) {
        let commands = decidedCommands
        shared.withLock { shared in
            // A state that cannot be stored must not keep events from being appended: the log holds everything.
            shared.slice = try? shared.flusher.slice(besides: commands, core: &shared.core)
        }
        let answers = decided
        decided = []
        start(answers, aside: aside)
    }

    /// - Parameter answers: to be given when the transaction is durable.
    private mutating func start(_ answers: [(job: Job, outcome: Job.Outcome)], aside: Bool) {
        guard let transaction = shared.withLock({ $0.setOff() }) else {
            written = Written(answers: answers, newHead: nil, outcome: .success(()))
            return
        }
        if transaction.wantsSlice { shared.signalAll() }
        let newHead = transaction.newHead
        let (environment, tables) = (environment, tables)
        if aside {
            written = Written(answers: answers, newHead: newHead)
            committer.start { try transaction.write(tables, environment) }
        } else {
            let outcome = Committer.Outcome { try transaction.write(tables, environment) }
            written = Written(answers: answers, newHead: newHead, outcome: outcome)
        }
    }

    /// Waits for the transaction that is being written, and makes it visible.
    ///
    /// When it failed, what was decided after it is decided anew.
    ///
    /// - Returns: the answers to give.
    mutating func settle() -> [(job: Job, outcome: Job.Outcome)] {
        guard let ended = written else { return [] }
        do {
            try end(ended)
            return ended.answers
        } catch {
            let failure = TraylogError(error, in: directory)
            let later = decided.map(\.job)
            decided = []
            if !later.isEmpty { decide(later) }
            return ended.answers.map { ($0.job, .failure(failure)) }
        }
    }

    /// Makes the group and the slice durable, then visible; nothing else is being written.
    mutating func commit() throws {
        start([], aside: false)
        if let written { try end(written) }
    }

    /// Waits for the transaction, and makes it visible, or takes it and what was decided after it back.
    private mutating func end(_ ended: Written) throws {
        written = nil
        do {
            try (ended.outcome ?? committer.finish()).get()
        } catch {
            shared.withLock { $0.rollBack() }
            doubt()
            throw error
        }
        publish(ended.newHead)
    }

    private mutating func publish(_ newHead: UInt64?) {
        let touched: Touched?
        let hub = announcer.hub
        (hasUnstored, touched) = shared.withLock { shared in
            let touched = hub.hasObservers ? shared.group.written?.touched : nil
            shared.publish()
            return (shared.core.tail.count > 0 || shared.core.hasRefolded, touched)
        }
        hasUnsynced = true
        guard let newHead else { return }
        projections.headMoved(to: newHead)
        announcer.announce(newHead, touched)
    }

    /// Makes the transaction of a chore and answers it when it is durable.
    mutating func perform(_ chore: Chore) {
        do {
            try recover()
            try environment.write(chore.body)
            hasUnsynced = true
            chore.finish(.success(()))
        } catch {
            doubt()
            chore.finish(.failure(TraylogError(error, in: directory)))
        }
    }

    // MARK: Idle

    /// One step of what is better done while nobody waits.
    mutating func idle(isRelaxed: Bool) {
        if isRelaxed, hasUnsynced {
            hasUnsynced = false
            // The system tells of a failed sync once. The next commit has somebody to tell, and has to make sure first.
            do { try environment.sync() } catch { doubts.isUnsynced = true }
            return
        }
        hasUnsynced = false
        isStoring = hasUnstored
        if isStoring { storeSlice() }
    }

    /// Brings the stored states up to the log and syncs; what fails is derived from the log at the next opening.
    mutating func storeEverything() {
        hasUnstored = hasUnstored || shared.withLock { $0.core.hasRefolded }
        while hasUnstored, storeSlice() {}
        try? environment.sync()
    }

    /// Brings some of the stored states up to the log.
    mutating func storeSliceNow() throws {
        try recover()
        try shared.withLock { shared in
            shared.group.begin(shared.core, now: shared.core.head.recordedAt)
            shared.slice = try shared.flusher.slice(core: &shared.core)
        }
        try commit()
    }

    /// Tells of an event of the store itself.
    ///
    /// - Parameter users: whose trays it may change, by identity.
    func announce(_ head: UInt64, to users: [UInt64]) {
        projections.headMoved(to: head)
        announcer.announce(head, Touched(users: users, topics: false))
    }

    @discardableResult
    private mutating func storeSlice() -> Bool {
        do {
            try storeSliceNow()
            if !hasUnstored { isStoring = false }
            return true
        } catch {
            isStoring = false
            // Tried again with the next commit; until then the log holds everything.
            hasUnstored = false
            return false
        }
    }
}

extension Shared {
    /// Decides the commands of one job, as part of the group.
    fileprivate mutating func perform(_ job: Job, directory: String) -> Job.Outcome {
        let start = group.made.batch.nextSeq
        var results: [Result<Receipt, Refusal>] = []
        results.reserveCapacity(job.prepared.commands.count)
        for index in job.prepared.commands.indices {
            do {
                let receipt = try group.perform(job.prepared, index, core: &core, random: &random)
                results.append(.success(receipt))
            } catch {
                guard let refusal = error as? Refusal, job.mode != .atomic else {
                    group.rollBack(to: start, core: &core)
                    return .failure(TraylogError(error, in: directory))
                }
                results.append(.failure(refusal))
                if job.mode == .untilRefusal { return .success(results) }
            }
        }
        return .success(results)
    }

    /// Lets the group and the slice be written; nil when there is nothing to write.
    fileprivate mutating func setOff() -> GroupTransaction? {
        guard !group.isEmpty || !group.made.settled.isEmpty || slice != nil else { return nil }
        group.setOff()
        (writtenSlice, slice) = (slice, nil)
        guard let written = group.written else { return nil }
        return GroupTransaction(
            batch: written.batch, dues: written.dueEntries, settled: written.settled, generation: core.generation,
            rows: writtenSlice?.rows(core), wantsSlice: flusher.wantsToPrepare)
    }

    /// A transaction failed: nothing of it remains, nor of what was decided after it.
    mutating func rollBack() {
        group.rollBack(core: &core)
        if var lost = writtenSlice ?? slice {
            if writtenSlice != nil, let slice { lost.names += slice.names }
            flusher.abandon(lost, core: &core)
        }
        (writtenSlice, slice) = (nil, nil)
    }

    /// The transaction that was written is durable.
    fileprivate mutating func publish() {
        if var finished = writtenSlice {
            writtenSlice = nil
            flusher.publish(finished, to: &core)
            var buffer = RowBuffer()
            swap(&buffer, &finished.rows)
            flusher.reuse(buffer)
        }
        group.publish(to: &core)
        core.sweepCache()
    }
}
