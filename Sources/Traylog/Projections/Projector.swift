import TraylogDomain
import TraylogPlatform

/// A projection that this process keeps up to date: each commit is folded in, on a thread of its own, and the value is
/// stored together with its position about once a second.
///
/// It runs until ``stop()`` or until the store is closed, whether or not anybody holds this value.
///
/// ```swift
/// let hourly = try store.project(HourlyCounts.self)
/// let receipt = try store.perform(command)
/// let counts = try hourly.value()             // holds the command just performed
/// ```
public struct Projector<Value: Projection>: Sendable {
    private let board: ProjectionBoard
    private let run: ProjectionRun<Value>
    private let thread: OSThread

    init(board: ProjectionBoard, run: ProjectionRun<Value>, thread: OSThread) {
        self.board = board
        self.run = run
        self.thread = thread
    }

    /// The value once it holds `seq`; without one, once it holds all that was appended before the call.
    ///
    /// A large value is copied when the fold goes on while somebody still has it.
    ///
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; failed with what keeps the fold from going on, such as
    ///   `damaged`; failed `closed` after ``stop()``.
    public func value(through seq: Seq? = nil) async throws(TraylogError) -> Value {
        try await Waiting.suspended { (answer: @escaping Waiting.Answer<Value>) in run.whenApplied(seq, answer) }
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    public func value(through seq: Seq? = nil) throws(TraylogError) -> Value {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Value>) in run.whenApplied(seq, answer) }
    }

    /// The value as it is, perhaps behind the log; after ``stop()`` the last one.
    ///
    /// Waits for a few hundred calls of ``Projection/apply(_:)`` at most.
    public var latest: Projected<Value> { run.readStatus { $0.projected } }

    /// How far it is, where it came from, and what is in its way.
    public var progress: ProjectionProgress {
        run.readStatus { status in
            ProjectionProgress(
                position: status.projected.position, storedPosition: Seq(status.storedPosition),
                storedBytes: status.storedBytes, origin: status.origin,
                failure: status.foldFailure ?? status.storeFailure)
        }
    }

    /// Folds the whole log into a new value, beside the one in use, and then puts it in its place; returns when it is
    /// stored.
    ///
    /// The old value stays in use, and up to date, until then; and it stays stored, if the process dies before the end.
    ///
    /// - Throws: ``TraylogError``; failed `closed` when the projection is stopped before the end.
    public func rebuild() async throws(TraylogError) {
        try await Waiting.suspended { (answer: @escaping Waiting.Answer<Void>) in run.rebuild(answer) }
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    public func rebuild() throws(TraylogError) {
        try Waiting.blocking { (answer: @escaping Waiting.Answer<Void>) in run.rebuild(answer) }
    }

    /// Stores the value and its position, wherever the fold is, and ends; ``progress`` tells when that failed.
    ///
    /// Blocks for as long as that takes. The name is free afterwards. A second call does nothing.
    public func stop() {
        guard !run.environment.isInherited else { return }
        run.stopSoon()
        // The name is free once the thread has ended, which only others can wait for.
        guard !run.isWithin else { return }
        thread.join()
        board.release(run.name, of: run)
    }
}
