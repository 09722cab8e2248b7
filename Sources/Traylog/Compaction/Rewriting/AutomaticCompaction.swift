import TraylogDomain
import TraylogPlatform

/// The thread of a store that compacts itself, until the store is closed.
final class AutomaticCompaction: Sendable {
    private let policy: CompactionPolicy
    private let isStopping = Monitor(false)
    private let cancellation = Cancellation()

    init(_ policy: CompactionPolicy) {
        self.policy = policy
    }

    /// Lets the thread end soon; a compaction that is under way is given up.
    func stopSoon() {
        cancellation.cancel()
        isStopping.withLock { $0 = true }
        isStopping.signalAll()
    }

    /// The thread's life.
    ///
    /// - Parameter rewriter: of the store, which it must not keep alive.
    func run(_ rewriter: StoreRewriter) {
        let milliseconds = max(policy.intervalSeconds, 1) * 1_000
        while true {
            let isEnd = isStopping.wait(timeoutMilliseconds: milliseconds, until: { $0 }, { $0 }) ?? false
            if isEnd { return }
            // What fails is tried again the next time; whoever compacts by hand sees why.
            _ = try? rewriter.exclusively { try step(rewriter) }
        }
    }

    /// Looks once; only within ``StoreRewriter/exclusively(_:)``.
    ///
    /// - Returns: what was done; nil for nothing.
    @discardableResult
    func step(_ rewriter: StoreRewriter) throws -> CompactionReport? {
        let statistics = try rewriter.source.statistics()
        guard statistics.bytes >= policy.minimumBytes else { return nil }
        let moment = Moment.daysAgo(policy.keepDays)
        let floor = try rewriter.floor(before: moment)
        let old = floor > statistics.floor.rawValue ? floor - statistics.floor.rawValue : 0
        let isOld = Double(old) >= policy.oldShare * Double(statistics.head.rawValue) && old > 1
        let isFree = Double(statistics.freeBytes) >= policy.freeShare * Double(statistics.bytes)
        guard isOld || isFree else { return nil }
        var goal = RewriteGoal()
        goal.floor = isOld ? floor : 0
        goal.archiveDirectory = policy.archive
        return try rewriter.compact(goal) { _, _ in try self.cancellation.check() }
    }
}
