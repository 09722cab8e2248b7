import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogStates

/// Takes requests from the queue, decides them, commits once for all, and answers everybody.
///
/// While it waits for the disk, the next group gathers in the queue, and the flush thread makes the next flush batch. There is one loop,
/// and whoever has it writes: the writer's thread or, while that one rests, a caller (``Writer/appendHere(_:)``).
package struct WriterLoop: ~Copyable, Sendable {
    /// How long the store must be idle before everything unflushed is written.
    private static let idleNanoseconds: Int64 = 200_000_000
    /// The same for what a relaxed commit left to the system.
    private static let relaxedNanoseconds: Int64 = 50_000_000
    /// How long to sleep at most while something will be due: after that the clock is looked at anew.
    private static let clockMilliseconds: Int64 = 10_000
    /// Before a tick that failed is tried again.
    private static let tickRetryMilliseconds: Int64 = 10_000

    let directory: String
    let environment: Environment
    let tables: Tables
    package let memory: StoreLock
    let listener: any CommitListener
    private let writer: Writer
    private let isRelaxed: Bool
    private let ticksByItself: Bool
    let observer: (any StoreObserver)?
    /// Takes what the store decides before the store does; nil for a store that is its own log of record.
    let logOfRecord: CalledLog?
    private let clock: (@Sendable () -> Timestamp)?
    /// When the oldest of the requests in turn was handed over, by the monotonic clock, and when its turn came.
    private var groupTimes: (since: Int64, from: Int64)?

    /// What a failure left in doubt; ``resolveInDoubt()`` clears it up.
    var inDoubt = InDoubt()
    /// The store was removed or replaced, and the observer knows.
    var isMisplaced = false
    /// The clock was behind the log at the last append, and the observer knows.
    private var isClockBehind = false
    /// The earliest due time; nil when nothing is due.
    var nextDue: Timestamp?
    /// The tick that the store began by itself and has not ended.
    private var tick: TickRun?
    private var isTickNext = false
    private var window = GroupCommitWindow()
    /// The requests to wait for with the next transaction, and for how long at a time.
    private var gathering: (expected: Int, nanoseconds: Int)?
    /// Stored states are behind the log.
    private var isDirty: Bool
    /// So far behind that they and the callers take turns.
    private var hasBackPressure = false
    /// A relaxed commit is not on disk yet.
    private var hasUnsynced = false
    /// The store is idle and being brought up to the log.
    private var isStoring = false
    /// When the last step ended, by the monotonic clock.
    private var idleSince = SystemClock.monotonicNanoseconds()

    package init(
        _ writer: Writer, directory: String, environment: Environment, tables: Tables, memory: StoreLock,
        listener: any CommitListener, options: StoreOptions, logOfRecord: CalledLog? = nil
    ) {
        self.writer = writer
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.memory = memory
        self.listener = listener
        isRelaxed = options.durability == .relaxed
        ticksByItself = options.ticking == .automatic
        observer = options.observer
        self.logOfRecord = logOfRecord
        clock = options.clock
        (isDirty, nextDue) = memory.withLock { ($0.store.isDirty, $0.store.nextDue) }
    }

    /// The present, as the store's clock says it.
    ///
    /// The writer waits for a clock as it does for an observer.
    var now: Timestamp {
        guard let clock else { return Timestamp(milliseconds: SystemClock.nowMilliseconds()) }
        return ObserverCall.hold(writer, clock)
    }

    // MARK: The loop

    /// The next step of the thread.
    private enum Step {
        case work(Writer.Work)
        /// Something is due.
        case tick
        /// Nobody came: bring some stored states up to the log.
        case store
        /// Nobody came: make sure of what a relaxed commit left to the system.
        case sync
        /// There is nothing to do before a time, by the monotonic clock.
        case rest(until: Int64)
    }

    /// Starts the second thread, which makes flush batches while the writer waits for the disk, and does what takes long without
    /// the lock, until the store is closed.
    package static func startFlushThread(_ memory: StoreLock) throws(ThreadRefused) -> OSThread {
        try OSThread.start(name: "traylog-flush") { runFlushThread(memory) }
    }

    /// Ends it where no writer could be started.
    package static func endFlushThread(_ flushThread: OSThread, _ memory: StoreLock) {
        memory.withLock { $0.isClosed = true }
        memory.signalAll()
        flushThread.join()
    }

    /// The thread's life.
    ///
    /// - Parameter flushThread: from ``startFlushThread(_:)``; it ends with this one.
    package consuming func run(_ flushThread: OSThread) {
        let writer = writer
        defer { flushThread.join() }
        while true {
            switch nextStep() {
            case .work(.append(let requests)): append(requests)
            case .work(.task(let task)):
                pause()
                task.run(&self)
            case .tick: tickByItself()
            case .store: flushBatch()
            case .sync: sync()
            case .rest(let time):
                self = writer.rest(self, until: time)
                continue
            case .work(.close): return close()
            }
            idleSince = SystemClock.monotonicNanoseconds()
        }
    }

    private mutating func nextStep() -> Step {
        if hasBackPressure, !isStoring { return .store }
        gather()
        if tick != nil || dueTime == 0 {
            // A tick of many items takes turns with all other work.
            isTickNext.toggle()
            if !isTickNext, let work = writer.next() { return .work(work) }
            return .tick
        }
        if let work = writer.next() { return .work(work) }
        if let idle = idleStep, idle.time <= SystemClock.monotonicNanoseconds() { return idle.step }
        return .rest(until: nextTime)
    }

    /// When there is something to do that nobody asks for, by the monotonic clock; 0 for at once.
    var nextTime: Int64 { hasBackPressure && !isStoring ? 0 : min(idleStep?.time ?? .max, dueTime) }

    /// Waits a little for the callers that were just answered to come back.
    ///
    /// Without it the first ones back would get a commit of their own, and all others would wait for two. The first half of
    /// them is decided while the others come.
    private mutating func gather() {
        guard let (expected, nanoseconds) = window.nextWait() else { return }
        gathering = (expected, nanoseconds)
        if !writer.gather(max(expected / 2, 1), nanoseconds: nanoseconds) { gathering?.nanoseconds = 0 }
    }

    /// Waits for nobody with the next transaction.
    mutating func pause() {
        window.pause()
        gathering = nil
    }

    /// The step to take when nobody comes until a time, by the monotonic clock; nil for none.
    private var idleStep: (step: Step, time: Int64)? {
        if hasUnsynced && isRelaxed { return (.sync, idleSince + WriterLoop.relaxedNanoseconds) }
        guard isDirty else { return nil }
        return (.store, isStoring ? 0 : idleSince + WriterLoop.idleNanoseconds)
    }

    /// When to look for the next tick that the store makes by itself, by the monotonic clock; 0 for at once.
    private var dueTime: Int64 {
        guard ticksByItself, let due = nextDue?.milliseconds else { return .max }
        let now = now.milliseconds
        // Any time may stand here: the earliest one says that something that waited is to be looked at.
        guard due > now else { return 0 }
        let (distance, overflows) = due.subtractingReportingOverflow(now)
        // Look again soon enough: the clock may be set.
        let milliseconds = overflows ? WriterLoop.clockMilliseconds : min(distance, WriterLoop.clockMilliseconds)
        return SystemClock.monotonicNanoseconds() + milliseconds * 1_000_000
    }

    private static func runFlushThread(_ memory: StoreLock) {
        while true {
            // Values taken out here are released at the end of the iteration.
            let (isClosed, order, unsorted, _) = memory.wait(
                until: { $0.flusher.wantsToPrepare || $0.store.states.hasDiscarded || $0.isClosed },
                { memory -> (Bool, PartsOrder?, (names: UnsortedNames, flush: Int)?, [any Sendable]) in
                    if memory.isClosed { return (true, nil, nil, []) }
                    memory.prepareFlushBatch()
                    return (
                        false, memory.flusher.takeOrder(&memory.store), memory.flusher.takeUnsorted(),
                        memory.store.states.takeDiscarded()
                    )
                })
            if isClosed { return }
            if let order {
                let rows = order.rows()
                memory.withLock { $0.flusher.put(rows, of: order) }
            }
            if let unsorted {
                let names = unsorted.names.sorted()
                memory.withLock { $0.flusher.put(names, ofFlush: unsorted.flush) }
            }
        }
    }

    // MARK: Appending

    /// Performs requests as one transaction, and answers them when it is durable.
    mutating func append(_ requests: [AppendRequest]) {
        // All of them were withdrawn.
        guard !requests.isEmpty else { return }
        isStoring = false
        let start = SystemClock.monotonicNanoseconds()
        groupTimes = requests.first.map { ($0.since, start) }
        defer { groupTimes = nil }
        var decision = GroupDecision(limit: logOfRecord?.log.largestGroupBytes ?? .max, directory: directory)
        decision.add(requests, now: now)
        let outcomes = outcomes(of: &decision)
        idleSince = SystemClock.monotonicNanoseconds()
        window.note(
            jobs: outcomes.count, commands: decision.commands, waiting: writer.waiting,
            nanoseconds: Int(idleSince - start))
        for (request, outcome) in zip(decision.requests, outcomes) { request.answer(outcome) }
    }

    private mutating func outcomes(of decision: inout GroupDecision) -> [AppendRequest.Outcome] {
        var count = decision.requests.count
        do {
            try prepare()
            let events = max(decision.commands, gathering?.expected ?? 0)
            let newest = try memory.withLock { memory in
                let newest = memory.store.head.recordedAt
                try memory.begin(events: events, now: decision.now)
                return newest
            }
            decide(&decision)
            if gatherRest(&decision) { decide(&decision) }
            if let damage = decision.damage { memory.note(damage) }
            count = decision.outcomes.count
            writer.putBack(decision.requests[count...])
            if logOfRecord != nil { try confirmAnswers() }
            try commit()
            compareClock(decision.now, with: newest)
            return decision.outcomes
        } catch {
            memory.note(error)
            let failure = TraylogError(error, in: directory)
            return decision.requests[..<count].map { _ in .failure(failure) }
        }
    }

    /// Tells the observer when the clock fell behind the newest event.
    private mutating func compareClock(_ now: Timestamp, with newest: Timestamp) {
        let wasBehind = isClockBehind
        isClockBehind = newest > now + .milliseconds(StoreActivity.toleratedLagMilliseconds)
        if isClockBehind, !wasBehind { tell(.clockBehind(by: newest - now)) }
    }

    private func decide(_ decision: inout GroupDecision) {
        while !memory.withLock({ decision.proceed(&$0) }) {
            if let stream = decision.takeDamaged() {
                // Where the log is damaged, too, the last turn meets it with the lock, and says so.
                try? memory.refold(stream)
            } else {
                memory.letOthersIn()
            }
        }
    }

    /// Waits for the rest of the callers, and adds the requests that came while those before were decided.
    ///
    /// - Returns: whether there are any.
    private mutating func gatherRest(_ decision: inout GroupDecision) -> Bool {
        guard let (expected, nanoseconds) = gathering.take() else { return false }
        let missing = expected - decision.requests.count
        guard missing > 0, decision.hasRoom else { return false }
        let rest = writer.gather(
            missing, nanoseconds: nanoseconds, besides: decision.commands, decision.payloadBytes)
        decision.add(rest, now: now)
        return !rest.isEmpty
    }

    /// Makes the transaction durable, then visible.
    ///
    /// - Parameter isDecidedHere: whether its events are the store's own, which the log of record has to take first.
    mutating func commit(isDecidedHere: Bool = true) throws {
        let newHead: UInt64?
        var news = TransactionNews()
        do {
            // Given up before it is published, so that the buffers behind the values are filled again in place.
            let (made, wantsFlushBatch, failure) = memory.withLock {
                ($0.values(), $0.flusher.wantsToPrepare, $0.takeFlushFailure())
            }
            if let failure { tell(.flush, failure) }
            if wantsFlushBatch { memory.signalAll() }
            guard var values = made else { return }
            if isDecidedHere, logOfRecord != nil { try agree(on: &values) }
            newHead = values.newHead
            let start = SystemClock.monotonicNanoseconds()
            try values.write(tables, environment)
            news = TransactionNews(values, .nanoseconds(SystemClock.monotonicNanoseconds() - start))
        } catch {
            memory.withLock { $0.rollBack() }
            noteInDoubt()
            throw error
        }
        publish(newHead)
        if observer != nil { tell(of: news) }
    }

    private mutating func publish(_ newHead: UInt64?) {
        let listener = listener
        let (touched, hasDiscarded): (Touched?, Bool)
        (touched, isDirty, hasBackPressure, nextDue, hasDiscarded) = memory.withLock { memory in
            (
                memory.publish(wantsTouched: listener.wantsTouched), memory.store.isDirty,
                memory.flusher.hasBackPressure(memory.store), memory.store.nextDue, memory.store.states.hasDiscarded
            )
        }
        if hasDiscarded { memory.signalAll() }
        hasUnsynced = true
        if let newHead { listener.committed(through: newHead, touched) }
    }

    /// What the observer hears of a transaction, once it is published.
    private struct TransactionNews {
        var head: UInt64?
        var events: UInt64 = 0
        var isFlush = false
        var writing = Duration.zero

        init() {}

        init(_ values: TransactionValues, _ writing: Duration) {
            (head, events) = (values.newHead, UInt64(values.batch.count))
            (isFlush, self.writing) = (values.rows != nil, writing)
        }
    }

    private func tell(of news: TransactionNews) {
        if let head = news.head {
            let waited = groupTimes.map { Duration.nanoseconds($0.from - $0.since) } ?? .zero
            tell(.committed(events: news.events, head: Seq(head), waited: waited, writing: news.writing))
        }
        if news.isFlush { tell(.flushed(writing: news.writing)) }
    }

    /// Tells of something that failed with nobody waiting for it.
    func tell(_ work: BackgroundWork, _ error: any Error) {
        memory.note(error)
        tell(.failed(work, TraylogError(error, in: directory)))
    }

    /// Tells the observer, for which the writer waits.
    func tell(_ activity: StoreActivity) {
        if let observer { ObserverCall.tell(observer, activity, holding: writer) }
    }

    /// Makes a transaction for somebody else.
    mutating func write(_ body: (inout WriteTransaction) throws -> Void) throws {
        try prepare()
        try environment.write(body)
        hasUnsynced = true
    }

    private mutating func tickByItself() {
        let now = now
        do {
            let run = try tick(tick ?? TickRun(now))
            tick = run.isDone ? nil : run
        } catch {
            tick = nil
            tell(.tick, error)
            // A failure shows to whoever appends next; what is due stays so, and is tried again after a pause.
            setNextDue(now + .milliseconds(WriterLoop.tickRetryMilliseconds))
        }
    }

    /// Does not look at what is due before a time.
    mutating func setNextDue(_ due: Timestamp?) {
        memory.withLock { $0.store.nextDue = due }
        nextDue = due
    }

    // MARK: Idle

    private mutating func sync() {
        hasUnsynced = false
        // The system reports a failed sync once. The next commit has somebody to tell, and has to make sure first.
        do {
            try environment.checkPlace()
            try environment.sync()
        } catch {
            tell(.sync, error)
            inDoubt.isUnsynced = true
        }
    }

    /// Brings some of the stored states up to the log, while nobody waits.
    private mutating func flushBatch() {
        hasUnsynced = false
        isStoring = true
        do {
            try flushBatchNow()
            if !isDirty { isStoring = false }
        } catch {
            tell(.flush, error)
            // Tried again with the next commit; until then the log holds everything.
            (isStoring, isDirty, hasBackPressure) = (false, false, false)
        }
    }

    /// Brings some of the stored states up to the log.
    mutating func flushBatchNow() throws {
        try prepare()
        let waits = try memory.withLock { memory in
            try memory.makeFlushBatch()
            return memory.flusher.waitsForFlushThread
        }
        try commit()
        if waits { memory.letOthersIn() }
    }

    /// Brings the stored states up to the log and syncs; what fails is derived from the log at the next opening.
    private mutating func close() {
        noteDirty()
        while isDirty { flushBatch() }
        noteClean()
        try? environment.sync()
        memory.withLock { $0.isClosed = true }
        memory.signalAll()
    }

    /// A relaxed writer that comes to its end has lost nothing, so the next one goes on with the same history.
    private mutating func noteClean() {
        guard isRelaxed, logOfRecord == nil, let place = environment.place else { return }
        let record = memory.withLock { memory in
            memory.store.record.place = place
            return memory.store.record
        }
        do {
            // First everything that was answered has to be on disk.
            try environment.sync()
            try environment.write { try record.write(tables.log.meta, to: &$0) }
        } catch {
            tell(.flush, error)
        }
    }

    /// Takes over what memory says that was made anew: whether stored states are behind the log, and what is due.
    mutating func noteDirty() {
        (isDirty, hasBackPressure, nextDue) = memory.withLock { memory in
            (memory.store.isDirty, memory.flusher.hasBackPressure(memory.store), memory.store.nextDue)
        }
    }
}
