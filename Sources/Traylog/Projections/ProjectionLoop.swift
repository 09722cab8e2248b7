import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates
import TraylogWriter

/// The loop of a projection's thread: folds new events, and stores the value from time to time.
struct ProjectionLoop<Value: Projection> {
    /// Chunks that a rebuild folds for each one of the value in use, so that it catches up.
    private static var chunksOfRebuild: Int { 4 }
    /// The pause after storing is at least this many times as long as storing took.
    private static var storingShare: Int64 { 20 }
    private static var retryMilliseconds: Int { 1_000 }

    /// A value that is folded again from the first event, beside the one in use.
    private struct Rebuild {
        var projected = Projected(value: Value(), position: .zero, origin: .rebuilt)
        var answers: [Waiting.Answer<Void>]
    }

    private let run: ProjectionRun<Value>
    private let intervalMilliseconds: Int
    private var rebuild: Rebuild?
    /// The number of erasures that were handled.
    private var erasures = 0
    /// The copy of chunks that the stored record names.
    private var copy: UInt8
    /// Storing failed, so that the stored record may name either copy.
    private var isCopyUncertain = false
    /// The stored value is not from this fold.
    private var mustStore: Bool
    private var position: UInt64
    private var storedPosition: UInt64
    /// The earliest time to store.
    private var storeTime: Int64
    /// The earliest time to fold, after a failure.
    private var foldTime: Int64 = 0

    init(_ run: ProjectionRun<Value>, record: ProjectionRecord?, intervalMilliseconds: Int) {
        self.run = run
        self.intervalMilliseconds = intervalMilliseconds
        copy = record?.copy ?? 0
        position = run.status.withLock { $0.projected.position.rawValue }
        storedPosition = position
        mustStore = false
        storeTime = ProjectionLoop.time(inMilliseconds: intervalMilliseconds)
    }

    mutating func live() {
        run.folder.store(OSThread.currentNumber, ordering: .relaxed)
        while true {
            let (head, isStopping) = nextOrders()
            if isStopping { break }
            if position < head, foldTime <= SystemClock.monotonicNanoseconds() { fold(through: head) }
            advanceRebuild()
            if hasUnstored, storeTime <= SystemClock.monotonicNanoseconds() { store() }
        }
        if hasUnstored { store() }
        end()
    }

    private var hasUnstored: Bool { mustStore || position > storedPosition }

    // MARK: Waiting

    private mutating func nextOrders() -> (head: UInt64, isStopping: Bool) {
        let canFold = foldTime <= SystemClock.monotonicNanoseconds()
        let position = position
        let erasures = erasures
        defer { forgetIfAsked() }
        let asked = run.orders.wait(
            timeoutMilliseconds: millisecondsToWait,
            until: {
                $0.isStopping || $0.erasures != erasures || !$0.rebuilds.isEmpty || (canFold && $0.head > position)
            },
            { orders in
                let answers = orders.rebuilds
                orders.rebuilds = []
                return (orders.head, orders.isStopping, answers)
            })
        guard let (head, isStopping, answers) = asked else {
            return run.orders.withLock { ($0.head, $0.isStopping) }
        }
        if !answers.isEmpty {
            if rebuild == nil { rebuild = Rebuild(answers: []) }
            rebuild?.answers += answers
        }
        return (head, isStopping)
    }

    /// Begins again at the first event, with nothing stored, after an erasure.
    private mutating func forgetIfAsked() {
        let asked = run.orders.withLock { $0.erasures }
        guard asked != erasures else { return }
        erasures = asked
        run.status.withLock { status in
            status.projected = Projected(value: Value(), position: .zero, origin: .rebuilt)
            status.origin = .rebuilt
            (status.storedPosition, status.storedBytes) = (0, 0)
        }
        (position, storedPosition, mustStore, foldTime) = (0, 0, false, 0)
        rebuild?.projected = Projected(value: Value(), position: .zero, origin: .rebuilt)
    }

    /// The time until something must be done without an order; nil for never.
    private var millisecondsToWait: Int? {
        if rebuild != nil { return 0 }
        var times: [Int64] = []
        if hasUnstored { times.append(storeTime) }
        if foldTime > 0 { times.append(foldTime) }
        guard let next = times.min() else { return nil }
        return max(0, Int((next - SystemClock.monotonicNanoseconds()) / 1_000_000) + 1)
    }

    private static func time(inMilliseconds milliseconds: Int) -> Int64 {
        SystemClock.monotonicNanoseconds() + Int64(milliseconds) * 1_000_000
    }

    // MARK: Folding

    private mutating func fold(through head: UInt64) {
        do {
            let chunk = try run.queries.chunk(after: position, through: head, withChanges: Value.takesChanges)
            let waiters = run.status.withLock { status in
                status.projected.apply(chunk)
                status.foldFailure = nil
                return status.takeWaiters(through: chunk.position)
            }
            position = chunk.position
            foldTime = 0
            for (waiter, value) in waiters { waiter.answer(.success(value)) }
        } catch {
            foldTime = ProjectionLoop.time(inMilliseconds: ProjectionLoop.retryMilliseconds)
            let failure = TraylogError(error, in: run.directory)
            let waiters = run.status.withLock { status in
                status.foldFailure = failure
                return status.takeAllWaiters()
            }
            for waiter in waiters { waiter.answer(.failure(failure)) }
            run.observer?.observe(.failed(.projection, failure))
        }
    }

    private mutating func advanceRebuild() {
        guard var fresh = rebuild else { return }
        rebuild = nil
        do {
            for _ in 0..<ProjectionLoop.chunksOfRebuild where fresh.projected.position.rawValue < position {
                fresh.projected.apply(
                    try run.queries.chunk(
                        after: fresh.projected.position.rawValue, through: position,
                        withChanges: Value.takesChanges))
            }
        } catch {
            let failure = TraylogError(error, in: run.directory)
            for answer in fresh.answers { answer(.failure(failure)) }
            run.observer?.observe(.failed(.projection, failure))
            return
        }
        guard fresh.projected.position.rawValue == position else {
            rebuild = fresh
            return
        }
        swapIn(fresh)
    }

    /// Replaces the value by the new one, and stores it.
    private mutating func swapIn(_ fresh: Rebuild) {
        let projected = fresh.projected
        run.status.withLock { status in
            status.projected = projected
            status.origin = .rebuilt
        }
        mustStore = position > 0
        if mustStore { store() }
        let failure = run.status.withLock { $0.storeFailure }
        for answer in fresh.answers { answer(failure.map { .failure($0) } ?? .success(())) }
    }

    // MARK: Storing

    /// Stores value and position together.
    ///
    /// After a failure it is tried again later.
    private mutating func store() {
        let start = SystemClock.monotonicNanoseconds()
        do {
            let bytes = try encodedValue()
            if isCopyUncertain { try findCopy() }
            let record = ProjectionRecord(
                version: Value.version, position: position, copy: 1 - copy, byteCount: bytes.count,
                checksum: crc32c(RawSpan(_elements: bytes.span)))
            let erasures = erasures
            let orders = run.orders
            try run.tables.projections.store(
                bytes, record, of: run.name, in: run.environment, through: run.writer,
                unless: { orders.withLock { $0.erasures } != erasures })
            copy = record.copy
            storedPosition = position
            mustStore = false
            run.status.withLock { status in
                status.storedPosition = record.position
                status.storedBytes = record.byteCount
                status.storeFailure = nil
            }
            let now = SystemClock.monotonicNanoseconds()
            storeTime = now + max(Int64(intervalMilliseconds) * 1_000_000, (now - start) * Self.storingShare)
        } catch {
            isCopyUncertain = true
            storeTime = Self.time(inMilliseconds: Self.retryMilliseconds)
            let failure = TraylogError(error, in: run.directory)
            run.status.withLock { $0.storeFailure = failure }
            run.observer?.observe(.failed(.projection, failure))
        }
    }

    /// Reads the copy that the stored record names, because it must not be overwritten.
    private mutating func findCopy() throws {
        copy = try run.environment.read { try run.tables.projections.record(of: run.name, in: $0) }?.copy ?? copy
        isCopyUncertain = false
    }

    private func encodedValue() throws -> [UInt8] {
        // This reference must be gone before the next event is applied, or that would copy the whole value.
        let bytes = try run.status.withLock { $0.projected.value }.encoded()
        guard bytes.count <= ProjectionRecord.maximumBytes else {
            throw Refusal.invalid(
                field: "value",
                reason: "of the projection \"\(run.name.text)\" takes \(bytes.count) bytes, and at most "
                    + "\(ProjectionRecord.maximumBytes) can be stored")
        }
        return bytes
    }

    // MARK: End

    private mutating func end() {
        let waiters = run.status.withLock { status in
            status.isEnded = true
            return status.takeAllWaiters()
        }
        let answers = run.orders.withLock { orders in
            let answers = orders.rebuilds
            orders.rebuilds = []
            return answers
        }
        let ended = run.ended
        for waiter in waiters { waiter.answer(.failure(ended)) }
        for answer in answers + (rebuild?.answers ?? []) { answer(.failure(ended)) }
        rebuild = nil
        let stops = run.orders.withLock { orders in
            orders.isEnded = true
            defer { orders.stops = [] }
            return orders.stops
        }
        for answer in stops { answer() }
    }
}

extension ProjectionRun.Status {
    /// Takes out the waiters for events that were applied, with the value.
    fileprivate mutating func takeWaiters(
        through position: UInt64
    ) -> [(waiter: ProjectionRun.Waiter, value: Value)] {
        guard !waiters.isEmpty else { return [] }
        let value = projected.value
        let served = waiters.filter { $0.seq <= position }
        waiters.removeAll { $0.seq <= position }
        return served.map { ($0, value) }
    }

    fileprivate mutating func takeAllWaiters() -> [ProjectionRun<Value>.Waiter] {
        defer { waiters = [] }
        return waiters
    }
}
