import TraylogDomain
import TraylogLMDB
import TraylogLog

/// What the writer's thread does with jobs, and between them.
struct WriterLoop {
    private let directory: String
    private let environment: Environment
    private let tables: Tables
    private let shared: Monitor<Shared>

    /// Stored states are behind the log.
    private(set) var hasUnstored: Bool
    /// A relaxed commit is not on disk yet.
    private(set) var hasUnsynced = false
    /// The store is idle and being brought up to the log.
    private(set) var isStoring = false

    init(directory: String, environment: Environment, tables: Tables, shared: Monitor<Shared>) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        hasUnstored = shared.withLock { $0.core.tail.count > 0 }
    }

    // MARK: Jobs

    /// Performs the jobs as one transaction and answers them when it is durable.
    mutating func perform(_ jobs: [Job]) {
        isStoring = false
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let commands = jobs.reduce(0) { $0 + $1.prepared.commands.count }
        var outcomes: [Job.Outcome]
        do {
            let directory = directory
            outcomes = shared.withLock { shared in
                shared.group.begin(shared.core, now: now)
                // A state that cannot be stored must not keep events from being appended: the log holds everything.
                shared.slice = try? shared.flusher.slice(besides: commands, core: &shared.core)
                return jobs.map { shared.perform($0, directory: directory) }
            }
            try commit()
        } catch {
            let failure = TraylogError(error, in: directory)
            outcomes = jobs.map { _ in .failure(failure) }
        }
        for (job, outcome) in zip(jobs, outcomes) { job.finish(outcome) }
    }

    /// Makes the group and the slice durable, then visible.
    private mutating func commit() throws {
        var (batch, rows, isSliceWanted) = shared.withLock { shared in
            (
                shared.group.batch, shared.slice?.rows(hasher: shared.core.hasher),
                shared.flusher.wantsToPrepare
            )
        }
        guard !batch.isEmpty || rows != nil else { return }
        if isSliceWanted { shared.signalAll() }
        do {
            try environment.write { transaction in
                try tables.log.append(batch, to: &transaction)
                try rows?.write(tables, to: &transaction)
            }
        } catch {
            shared.withLock { $0.rollBack() }
            throw error
        }
        // Given up here, so that the buffers behind them are filled again in place.
        batch = RecordBatch(firstSeq: 1)
        rows = nil
        hasUnstored = shared.withLock { shared in
            shared.publish()
            return shared.core.tail.count > 0
        }
        hasUnsynced = true
    }

    // MARK: Idle

    /// One step of what is better done while nobody waits.
    mutating func idle(isRelaxed: Bool) {
        if isRelaxed, hasUnsynced {
            hasUnsynced = false
            // A failed sync shows again at the next commit, which has somebody to tell.
            try? environment.sync()
            return
        }
        hasUnsynced = false
        isStoring = hasUnstored
        if isStoring { storeSlice() }
    }

    /// Brings the stored states up to the log and syncs; what fails is derived from the log at the next opening.
    mutating func storeEverything() {
        while hasUnstored, storeSlice() {}
        try? environment.sync()
    }

    @discardableResult
    private mutating func storeSlice() -> Bool {
        do {
            try shared.withLock { shared in
                shared.group.begin(shared.core, now: shared.core.head.recordedAt)
                shared.slice = try shared.flusher.slice(core: &shared.core)
            }
            try commit()
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
    fileprivate mutating func rollBack() {
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
