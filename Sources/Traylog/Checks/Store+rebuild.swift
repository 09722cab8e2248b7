@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogRewrite
import TraylogStates

extension Store {
    /// Derives all stored states from the log again, and compares them with it, while appends and queries go on.
    ///
    /// The store is written to a new file, which replaces the old one; custom projections keep their values. The old states are not
    /// read, so they may be damaged in any way. A store does this by itself when it meets a damaged page of them.
    ///
    /// It runs on a thread of the store while the task waits. Cancelling the task gives it up.
    ///
    /// - Parameter progress: called on that thread with the number of finished steps, and of all steps.
    /// - Returns: what the comparison of the new states with the log found: no difference.
    /// - Throws: ``TraylogError/failed(_:)``: `busy`, `diskFull`, `closed`, `damaged` for an event that cannot be read.
    /// - Complexity: reads the log three times and writes all of the store.
    @_spi(Operations) public func rebuild(
        progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(TraylogError) -> ReplayReport {
        let rewriter = rewriter
        return try await queries.jobs.work { (cancellation) throws(TraylogError) in
            try rewriter.rebuild { done, total in
                try cancellation.check()
                progress(done, total)
            }
        }
    }
}

extension StoreRewriter {
    fileprivate func rebuild(
        progress: @escaping (UInt64, UInt64) throws -> Void = { _, _ in }
    ) throws(TraylogError) -> ReplayReport {
        do {
            var plan = RewritePlan()
            plan.isRebuild = true
            return try exclusively {
                try Replay.timed { try rewrite(plan, progress).replay ?? ReplayReport() }
            }
        } catch {
            throw TraylogError(error, in: source.directory)
        }
    }
}

/// Derives the states of an open store anew once its writer or a query has met damage in them.
final class StateRepair: Sendable {
    private let rewriter: StoreRewriter
    private let jobs: WorkPool
    private let observer: (any StoreObserver)?
    private let pace = Monitor(RepairPace())

    init(_ rewriter: StoreRewriter, jobs: WorkPool, observer: (any StoreObserver)?) {
        (self.rewriter, self.jobs, self.observer) = (rewriter, jobs, observer)
    }

    /// Begins a rebuild, unless one has begun, or the last one was not long ago: until then each damaged state is folded by itself.
    ///
    /// - Parameter error: what met the damage.
    func begin(after error: any Error) {
        let now = SystemClock.monotonicNanoseconds()
        guard pace.withLock({ $0.begin(at: now) }) else { return }
        let cause = TraylogError(error, in: rewriter.source.directory)
        Task.detached { [self] in
            do throws(TraylogError) {
                try await jobs.work { [self] (_) throws(TraylogError) in run(after: cause) }
            } catch {
                end(with: error)
            }
        }
    }

    /// Rebuilds the states, and tells the observer on the same thread, which is the store's.
    private func run(after cause: TraylogError) {
        do throws(TraylogError) {
            _ = try rewriter.rebuild()
            let isLast = pace.withLock { $0.end(at: SystemClock.monotonicNanoseconds()) }
            observer?.observe(.rebuilt(after: cause))
            if isLast { observer?.observe(.failed(.rebuild, .failed(comesBack))) }
        } catch {
            end(with: error)
        }
    }

    private func end(with error: TraylogError) {
        switch error {
        // A compaction or an erasure is under way, which derives the states as well.
        case .failed(let failure) where failure.code == .busy: pace.withLock { $0.giveBack() }
        // The next opening goes on.
        case .failed(let failure) where failure.code == .closed: break
        default: observer?.observe(.failed(.rebuild, error))
        }
    }

    private var comesBack: StoreFailure {
        StoreFailure(
            code: .damaged,
            message:
                "\(rewriter.source.directory): the stored states were derived from the log \(RepairPace.rebuildsAtMost) times and "
                + "damaged again; none is derived again before the next opening: check the disk and the memory of this machine, "
                + "and run `traylog verify`")
    }
}

/// When a store that meets damage may derive its states again: each rebuild reads the log three times and writes everything anew.
///
/// Damage that comes back, as from a bad cable, would have it do that without end.
struct RepairPace {
    static let rebuildsAtMost = 8
    static let firstPauseNanoseconds: Int64 = 60_000_000_000

    private var isUnderWay = false
    private var rebuilds = 0
    /// The end of the pause, by the monotonic clock.
    private var next = Int64.min

    /// - Returns: whether a rebuild begins.
    mutating func begin(at now: Int64) -> Bool {
        guard !isUnderWay, rebuilds < Self.rebuildsAtMost, now >= next else { return false }
        isUnderWay = true
        return true
    }

    /// Notes that the rebuild has succeeded; one that failed is tried again by the next opening.
    ///
    /// - Returns: whether it was the last one.
    mutating func end(at now: Int64) -> Bool {
        isUnderWay = false
        next = now + Self.firstPauseNanoseconds << Int64(rebuilds)
        rebuilds += 1
        return rebuilds == Self.rebuildsAtMost
    }

    /// Notes that none was made, because a compaction or an erasure derives the states as well.
    mutating func giveBack() { isUnderWay = false }
}
