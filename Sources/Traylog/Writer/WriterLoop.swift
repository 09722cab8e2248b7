import TraylogDomain
import TraylogLMDB
import TraylogLog

/// What the writer's thread does with jobs, and between them.
struct WriterLoop {
    let directory: String
    let environment: Environment
    let tables: Tables
    let shared: Monitor<Shared>
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

    /// When the next item expires or wakes; nil when none does.
    var nextDue: Timestamp? { shared.withLock { $0.core.nextDue } }

    /// Does not look at what is due before a time.
    func postponeTick(to milliseconds: Int64) {
        shared.withLock { $0.core.nextDue = Timestamp(milliseconds: milliseconds) }
    }

    init(
        directory: String, environment: Environment, tables: Tables, shared: Monitor<Shared>, hub: ObservationHub,
        projections: ProjectionBoard
    ) {
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

    /// Performs the jobs as one transaction.
    ///
    /// - Returns: the answers, in the same order; what they tell is durable.
    mutating func perform(_ jobs: [Job]) -> [Job.Outcome] {
        isStoring = false
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let commands = jobs.reduce(0) { $0 + $1.prepared.commands.count }
        do {
            try recover()
            let directory = directory
            let outcomes = shared.withLock { shared in
                shared.group.begin(shared.core, now: now)
                // A state that cannot be stored must not keep events from being appended: the log holds everything.
                shared.slice = try? shared.flusher.slice(besides: commands, core: &shared.core)
                return jobs.map { shared.perform($0, directory: directory) }
            }
            try commit()
            return outcomes
        } catch {
            let failure = TraylogError(error, in: directory)
            return jobs.map { _ in .failure(failure) }
        }
    }

    /// Makes the group and the slice durable, then visible.
    mutating func commit() throws {
        var (batch, dues, settled, generation, rows, isSliceWanted) = shared.withLock { shared in
            (
                shared.group.batch, shared.group.dueEntries, shared.group.settledEntries, shared.core.generation,
                shared.slice?.rows(shared.core), shared.flusher.wantsToPrepare
            )
        }
        guard !batch.isEmpty || !settled.isEmpty || rows != nil else { return }
        if isSliceWanted { shared.signalAll() }
        let newHead = batch.isEmpty ? nil : batch.nextSeq - 1
        do {
            try environment.write { transaction in
                try tables.log.append(batch, to: &transaction)
                try tables.dues(generation).add(dues, to: &transaction)
                try tables.dues(generation).remove(settled, from: &transaction)
                try rows?.write(tables, to: &transaction)
            }
        } catch {
            shared.withLock { $0.rollBack() }
            doubt()
            throw error
        }
        // Given up here, so that the buffers behind them are filled again in place.
        batch = RecordBatch(firstSeq: 1)
        rows = nil
        let touched: Touched?
        let hub = announcer.hub
        (hasUnstored, touched) = shared.withLock { shared in
            shared.publish()
            return (
                shared.core.tail.count > 0 || shared.core.hasRefolded, hub.hasObservers ? shared.group.touched : nil
            )
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
        let start = group.batch.nextSeq
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

    /// The transaction failed: nothing of it remains.
    mutating func rollBack() {
        group.rollBack(to: group.batch.firstSeq, core: &core)
        if let slice { flusher.abandon(slice, core: &core) }
        slice = nil
    }

    /// The transaction is durable.
    fileprivate mutating func publish() {
        if var finished = slice {
            slice = nil
            flusher.publish(finished, to: &core)
            var buffer = RowBuffer()
            swap(&buffer, &finished.rows)
            flusher.reuse(buffer)
        }
        group.publish(to: &core)
        core.sweepCache()
    }
}
