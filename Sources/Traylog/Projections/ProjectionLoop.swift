import TraylogDomain
import TraylogPlatform
import TraylogLog

/// The life of a projection's thread: folds what the log has more, and stores the value now and then.
struct ProjectionLoop<Value: Projection> {
    /// Chunks that a rebuild folds for each one that the value in use gets, so that it catches up with it.
    private static var chunksOfRebuild: Int { 4 }
    /// Storing may take this share of the time.
    private static var storingShare: Int64 { 20 }
    private static var retryMilliseconds: Int { 1_000 }

    /// A value that is folded anew, beside the one in use.
    private struct Rebuild {
        var projected = Projected(value: Value(), position: .zero, origin: .rebuilt)
        var answers: [Waiting.Answer<Void>]
    }

    private let run: ProjectionRun<Value>
    private let intervalMilliseconds: Int
    private var rebuild: Rebuild?
    /// Those of ``ProjectionRun/Orders`` that were followed.
    private var erasures = 0
    /// Which copy of chunks the stored record names.
    private var copy: UInt8
    /// A storing failed, and may have succeeded all the same.
    private var isCopyUncertain = false
    /// What is stored is not of this fold, however far it is.
    private var mustStore: Bool
    private var position: UInt64
    private var storedPosition: UInt64
    /// When storing, and folding after a failure, may be tried next.
    private var storeTime: Int64
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

    /// Begins anew at the first event, with nothing stored, when somebody was erased.
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

    /// Until something has to be done without being asked for; nil for never.
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
            let chunk = try run.tables.chunk(after: position, through: head, run.environment)
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
        }
    }

    private mutating func advanceRebuild() {
        guard var fresh = rebuild else { return }
        rebuild = nil
        do {
            for _ in 0..<ProjectionLoop.chunksOfRebuild where fresh.projected.position.rawValue < position {
                fresh.projected.apply(
                    try run.tables.chunk(
                        after: fresh.projected.position.rawValue, through: position, run.environment))
            }
        } catch {
            let failure = TraylogError(error, in: run.directory)
            for answer in fresh.answers { answer(.failure(failure)) }
            return
        }
        guard fresh.projected.position.rawValue == position else {
            rebuild = fresh
            return
        }
        swapIn(fresh)
    }

    /// Puts the new value in the place of the old one, and stores it.
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

    /// Stores value and position together; what fails is tried again later.
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
        }
    }

    /// The copy that the stored record names must not be written over.
    private mutating func findCopy() throws {
        copy = try run.environment.read { try run.tables.projections.record(of: run.name, in: $0) }?.copy ?? copy
        isCopyUncertain = false
    }

    private func encodedValue() throws -> [UInt8] {
        // The copy must be gone before the next event is applied, which would have to copy the whole value otherwise.
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
    }
}

extension ProjectionRun.Status {
    /// Those who wait for nothing that is not applied yet, with the value.
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
