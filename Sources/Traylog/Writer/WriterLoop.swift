import TraylogDomain
import TraylogLMDB
import TraylogLog

/// What the writer's thread does with jobs, and between them.
struct WriterLoop: ~Copyable {
    private let directory: String
    private let environment: Environment
    private let tables: Tables
    private let core: Monitor<Core>
    private var group = Group()
    private var flusher: Flusher
    private var random = RandomPool()

    /// Stored states are behind the log.
    private(set) var hasUnstored: Bool
    /// A relaxed commit is not on disk yet.
    private(set) var hasUnsynced = false
    /// The store is idle and being brought up to the log.
    private(set) var isStoring = false

    init(directory: String, environment: Environment, tables: Tables, core: Monitor<Core>, tailEvents: Int) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.core = core
        flusher = Flusher(tailEvents: tailEvents)
        hasUnstored = core.withLock { $0.tail.count > 0 }
    }

    // MARK: Jobs

    /// Performs the jobs as one transaction and answers them when it is durable.
    mutating func perform(_ jobs: [Job]) {
        isStoring = false
        var outcomes: [Job.Outcome] = []
        do {
            let slice = core.withLock { core in
                group.begin(core, now: Timestamp(milliseconds: SystemClock.nowMilliseconds()))
                let commands = jobs.reduce(0) { $0 + $1.commands.count }
                // A state that cannot be stored must not keep events from being appended: the log holds everything.
                let slice = try? flusher.slice(besides: commands, core: &core)
                for job in jobs { outcomes.append(perform(job, core: &core)) }
                return slice
            }
            try commit(slice)
        } catch {
            let failure = TraylogError(error, in: directory)
            outcomes = jobs.map { _ in .failure(failure) }
        }
        for (job, outcome) in zip(jobs, outcomes) { job.finish(outcome) }
    }

    private mutating func perform(_ job: Job, core: inout Core) -> Job.Outcome {
        let start = group.batch.nextSeq
        var results: [Result<Receipt, Refusal>] = []
        results.reserveCapacity(job.commands.count)
        do {
            for command in job.commands {
                do {
                    results.append(.success(try group.perform(command, core: &core, random: &random)))
                } catch let refusal as Refusal {
                    if job.mode == .atomic {
                        group.rollBack(to: start, core: &core)
                        return .failure(.refused(refusal))
                    }
                    results.append(.failure(refusal))
                    if job.mode == .untilRefusal { break }
                }
            }
            return .success(results)
        } catch {
            group.rollBack(to: start, core: &core)
            return .failure(TraylogError(error, in: directory))
        }
    }

    /// Makes the group and the slice durable, then visible.
    private mutating func commit(_ slice: Slice?) throws {
        guard !group.isEmpty || slice != nil else { return }
        let hasher = core.withLock { $0.hasher }
        do {
            try environment.write { transaction in
                try tables.log.append(group.batch, to: &transaction)
                try slice?.write(tables, hasher: hasher, to: &transaction)
            }
        } catch {
            core.withLock { core in
                group.rollBack(to: group.batch.firstSeq, core: &core)
                if let slice { flusher.abandon(slice, core: &core) }
            }
            throw error
        }
        core.withLock { core in
            if let slice { flusher.publish(slice, to: &core) }
            group.publish(to: &core)
            core.sweepCache()
            hasUnstored = core.tail.count > 0
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
        while hasUnstored {
            guard storeSlice() else { break }
        }
        try? environment.sync()
    }

    @discardableResult
    private mutating func storeSlice() -> Bool {
        do {
            let slice = try core.withLock { core in
                group.begin(core, now: core.head.recordedAt)
                return try flusher.slice(core: &core)
            }
            try commit(slice)
            return true
        } catch {
            isStoring = false
            // Tried again with the next commit; until then the log holds everything.
            hasUnstored = false
            return false
        }
    }
}
