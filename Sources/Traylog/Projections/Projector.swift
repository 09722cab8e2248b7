import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogWriter

/// A projection that this process keeps up to date.
///
/// A thread folds each commit in, and stores the value with its position about once a second.
///
/// It runs until ``stop()`` or until the store is closed, even if this value is released.
///
/// ```swift
/// let hourly = try await store.project(HourlyCounts.self)
/// let receipt = try await store.perform(command)
/// let counts = try await hourly.value()  // holds the command just performed
/// ```
public struct Projector<Value: Projection>: Sendable {
    fileprivate let board: ProjectionBoard
    fileprivate let run: ProjectionRun<Value>
    fileprivate let thread: OSThread

    init(board: ProjectionBoard, run: ProjectionRun<Value>, thread: OSThread) {
        self.board = board
        self.run = run
        self.thread = thread
    }

    /// Waits until the value holds `seq` or, without one, every event appended before the call.
    ///
    /// If the caller still has the value when the fold goes on, the fold copies it.
    ///
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; failed when the fold cannot go on, for example `damaged`;
    ///   failed `closed` after ``stop()``.
    public func value(through seq: Seq? = nil) async throws(TraylogError) -> Value {
        try await Waiting.suspended { (answer: @escaping Waiting.Answer<Value>) in run.whenApplied(seq, answer) }
    }

    /// The present value, which may be behind the log; after ``stop()`` the last one.
    ///
    /// Waits for a few hundred calls of ``Projection/apply(_:)`` at most.
    public var latest: Projected<Value> { run.readStatus { $0.projected } }

    /// The progress of the fold and of storing, with the failure that holds it up.
    public var progress: ProjectionProgress {
        run.readStatus { status in
            ProjectionProgress(
                position: status.projected.position, storedPosition: Seq(status.storedPosition),
                storedBytes: status.storedBytes, origin: status.origin,
                failure: status.foldFailure ?? status.storeFailure)
        }
    }

    /// Folds the whole log into a new value, which then replaces the one in use.
    ///
    /// Returns when it is stored.
    ///
    /// Until then the old value stays in use, up to date and stored.
    ///
    /// - Throws: ``TraylogError``; failed `closed` when the projection is stopped before the end.
    public func rebuild() async throws(TraylogError) {
        try await Waiting.suspended { (answer: @escaping Waiting.Answer<Void>) in run.rebuild(answer) }
    }

    /// Stores the value with its position, and ends, while the task waits.
    ///
    /// ``progress`` tells when storing failed.
    ///
    /// Afterwards the name is free. A second call does nothing.
    public func stop() async {
        guard !run.environment.isInherited else { return }
        await withCheckedContinuation { continuation in run.stop { continuation.resume() } }
        board.release(run.name, of: run)
    }

    /// The same calls for threads: they block the caller.
    package var blocking: BlockingProjector<Value> { BlockingProjector(projector: self) }
}

/// The calls of a ``Projector`` for threads.
package struct BlockingProjector<Value: Projection>: Sendable {
    let projector: Projector<Value>

    /// Waits until the value holds `seq` or, without one, every event appended before the call.
    ///
    /// - Throws: as ``Projector/value(through:)``.
    @available(*, noasync, message: "use `await projector.value`; this call blocks a thread that tasks share")
    package func value(through seq: Seq? = nil) throws(TraylogError) -> Value {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Value>) in projector.run.whenApplied(seq, answer) }
    }

    /// Folds the whole log into a new value, which then replaces the one in use.
    ///
    /// Returns when it is stored.
    ///
    /// - Throws: as ``Projector/rebuild()``.
    @available(*, noasync, message: "use `await projector.rebuild`; this call blocks a thread that tasks share")
    package func rebuild() throws(TraylogError) {
        let run = projector.run
        // It stores the value through the writer, which waits for the observer.
        guard !ObserverCall.isHere(holding: run.writer) else { throw .calledFromObserver(run.directory) }
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Void>) in run.rebuild(answer) }
    }

    /// Stores the value with its position, and ends.
    ///
    /// From within the fold, and from within the store's observer, it returns at once.
    @available(*, noasync, message: "use `await projector.stop`; this call blocks a thread that tasks share")
    package func stop() {
        let run = projector.run
        guard !run.environment.isInherited else { return }
        run.stopSoon()
        // The name becomes free when the thread has ended. A thread cannot wait for itself, nor for the writer, while the
        // writer waits for it.
        guard !run.isWithin, !ObserverCall.isHere(holding: run.writer) else { return }
        projector.thread.join()
        projector.board.release(run.name, of: run)
    }
}

extension Store {
    /// Starts a projection from its stored value, if that is sound and of the same ``Projection/version``, or else from the
    /// first event.
    ///
    /// Returns before the projection has caught up. Several can run at once, each on its own thread.
    ///
    /// ```swift
    /// let hourly = try await store.project(HourlyCounts.self)
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid` with the field `name` for a bad name, and for one that runs in this
    ///   process already; failed `closed`, `newerFormat`, `inputOutput`, `outOfThreads`.
    @discardableResult
    public func project<Value: Projection>(_ type: Value.Type) async throws(TraylogError) -> Projector<Value> {
        try await queries.jobs.work { (_) throws(TraylogError) in try self.blocking.project(type) }
    }

    /// - Parameter storedEveryMilliseconds: the shortest time between two storings.
    package func project<Value: Projection>(
        _ type: Value.Type, storedEveryMilliseconds: Int
    ) throws(TraylogError) -> Projector<Value> {
        do {
            let name = try ProjectionName(Value.name)
            try projections.reserve(name)
            do {
                return try start(type, name, storedEveryMilliseconds)
            } catch {
                projections.release(name)
                throw error
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private func start<Value: Projection>(
        _ type: Value.Type, _ name: ProjectionName, _ milliseconds: Int
    ) throws -> Projector<Value> {
        let source = queries.source
        let erasures = projections.erasures
        let found = try source.read { try $0.tables.projections.find(type, name, in: $0) }
        let run = ProjectionRun(name, found: found, queries: queries, writer: writer, observer: observer)
        let record = found.record
        let entry = try projections.start(name, run, since: erasures) {
            () throws(ThreadRefused) in
            try OSThread.start(name: "traylog-values") {
                var loop = ProjectionLoop(run, record: record, intervalMilliseconds: milliseconds)
                loop.live()
            }
        }
        // Later commits are reported by the writer; this reports the earlier ones.
        run.headMoved(to: try view.head().rawValue)
        return Projector(board: projections, run: run, thread: entry.thread)
    }
}

extension StoreUpkeep where Owner == Store {
    /// Deletes the stored value of a projection, which must not run in this process.
    ///
    /// ```swift
    /// try await store.upkeep.forgetProjection(named: "hourly")
    /// ```
    ///
    /// - Returns: whether anything was stored.
    /// - Throws: ``TraylogError``: refused `invalid` with the field `name` when it runs; failed.
    @discardableResult
    public func forgetProjection(named text: String) async throws(TraylogError) -> Bool {
        try await store.queries.jobs.work { [blocking = store.blocking] (_) throws(TraylogError) in
            try blocking.forgetProjection(named: text)
        }
    }
}

extension BlockingStore {
    /// Starts a projection, as ``Store/project(_:)`` does.
    ///
    /// - Throws: as ``Store/project(_:)``.
    @available(*, noasync, message: "use `await store.project`; this call blocks a thread that tasks share")
    @discardableResult
    package func project<Value: Projection>(_ type: Value.Type) throws(TraylogError) -> Projector<Value> {
        try store.project(type, storedEveryMilliseconds: 1_000)
    }

    /// Deletes the stored value of a projection, which must not run in this process.
    ///
    /// - Returns: whether anything was stored.
    /// - Throws: as ``StoreUpkeep/forgetProjection(named:)``.
    @available(
        *, noasync, message: "use `await store.upkeep.forgetProjection`; this call blocks a thread that tasks share"
    )
    @discardableResult
    package func forgetProjection(named text: String) throws(TraylogError) -> Bool {
        do {
            let name = try ProjectionName(text)
            try store.projections.reserve(name)
            defer { store.projections.release(name) }
            let source = queries.source
            return try source.tables.projections.forget(name, in: source.environment, through: store.writer)
        } catch {
            throw TraylogError(error, in: store.directory)
        }
    }
}
