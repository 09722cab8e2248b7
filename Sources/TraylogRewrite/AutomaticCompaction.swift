import TraylogDomain
import TraylogPlatform
import TraylogQueries
@_spi(Operations) import TraylogStates

/// The thread that compacts a store by its policy, until the store is closed.
package final class AutomaticCompaction: Sendable {
    private let policy: CompactionPolicy
    private let observer: (any StoreObserver)?
    private let isStopping = Monitor(false)
    private let cancellation = Cancellation()

    package init(_ policy: CompactionPolicy, observer: (any StoreObserver)? = nil) {
        self.policy = policy
        self.observer = observer
    }

    /// Makes the thread end soon.
    ///
    /// A running compaction is cancelled.
    package func stopSoon() {
        cancellation.cancel()
        isStopping.withLock { $0 = true }
        isStopping.signalAll()
    }

    /// The body of the thread.
    ///
    /// - Parameter rewriter: the store's rewriter; the store itself must not be kept alive.
    package func run(_ rewriter: StoreRewriter) {
        let milliseconds = max(policy.intervalSeconds, 1) * 1_000
        while true {
            let isEnd = isStopping.wait(timeoutMilliseconds: milliseconds, until: { $0 }, { $0 }) ?? false
            if isEnd { return }
            do {
                guard let report = try rewriter.exclusively({ try step(rewriter) }) else { continue }
                observer?.observe(
                    .compacted(
                        dropped: report.dropped, bytesBefore: report.bytesBefore, bytesAfter: report.bytesAfter))
            } catch is CancellationError {
                continue
            } catch {
                // Tried again the next time.
                observer?.observe(.failed(.compaction, TraylogError(error, in: rewriter.source.directory)))
            }
        }
    }

    /// Looks once, and compacts if it is worth it.
    ///
    /// Call it only within ``StoreRewriter/exclusively(_:)``.
    ///
    /// - Returns: nil when nothing was done.
    @discardableResult
    func step(_ rewriter: StoreRewriter) throws -> CompactionReport? {
        let statistics = try rewriter.source.statistics(checkingStates: false)
        guard statistics.bytes >= policy.minimumBytes else { return nil }
        let moment = Moment.daysAgo(policy.keepDays)
        let floor = try rewriter.floor(before: moment)
        let old = floor > statistics.floor.rawValue ? floor - statistics.floor.rawValue : 0
        let isOld = Double(old) >= policy.oldShare * Double(statistics.head.rawValue) && old > 1
        let isFree = Double(statistics.freeBytes) >= policy.freeShare * Double(statistics.bytes)
        guard isOld || isFree else { return nil }
        var plan = RewritePlan()
        plan.floor = isOld ? floor : 0
        plan.archiveDirectory = policy.archive
        return try rewriter.compact(plan) { _, _ in try self.cancellation.check() }
    }
}

extension Moment {
    /// The time `days` ago by the system's clock, for ``StoreUpkeep/compact(before:archive:isDryRun:onlyIfSmaller:actor:device:progress:)``.
    ///
    /// ```swift
    /// print(try await store.log.seq(of: .daysAgo(30)))
    /// ```
    ///
    /// - Parameter days: a number that leads beyond all times means the first or the last one; a negative one a time to come.
    public static func daysAgo(_ days: Int) -> Moment {
        daysAgo(days, from: Timestamp(milliseconds: SystemClock.nowMilliseconds()))
    }

    static func daysAgo(_ days: Int, from now: Timestamp) -> Moment {
        let end: Int64 = days > 0 ? .min : .max
        let distance = Int64(clamping: days).multipliedReportingOverflow(by: 86_400_000)
        let time = now.milliseconds.subtractingReportingOverflow(distance.partialValue)
        return .time(Timestamp(milliseconds: distance.overflow || time.overflow ? end : time.partialValue))
    }
}
