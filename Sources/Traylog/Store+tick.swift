import TraylogDomain
import TraylogWriter

extension Store {
    /// Wakes and expires everything that is due at a time, ends mutes, and reminds.
    ///
    /// The order is by due time, then item, then user; expiry before waking, mutes last. In the state after that, it reminds of
    /// items that are counted and unread, by time, item and user.
    ///
    /// A store opened with ``StoreOptions/Ticking/automatic`` does this by itself. If a part fails, earlier parts stay
    /// done, and the next tick goes on.
    ///
    /// ```swift
    /// let report = try await store.tick()
    /// print("\(report.woken) woke, \(report.expired) expired")
    /// ```
    ///
    /// - Parameter now: the time that counts as the present, the store's clock when nil. It only decides what is due:
    ///   events are stamped like all others.
    /// - Throws: ``TraylogError/failed(_:)``; `cancelled` between two transactions.
    /// - Complexity: O(due events), in transactions of about 500 events, between which others append.
    @discardableResult
    public func tick(now: Timestamp? = nil) async throws(TraylogError) -> TickReport {
        var run = TickRun(now)
        while !run.isDone {
            let last = run
            if Task.isCancelled { throw .cancelled(directory) }
            run = try await Waiting.suspended { (answer: @escaping Waiting.Answer<TickRun>) in
                writer.perform({ try $0.tick(last) }, answer: answer)
            }
        }
        return run.report
    }
}

extension BlockingStore {
    /// Wakes and expires everything that is due at a time, the store's clock when nil.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    @available(*, noasync, message: "use `await store.tick`; this call blocks a thread that tasks share")
    @discardableResult
    public func tick(now: Timestamp? = nil) throws(TraylogError) -> TickReport {
        var run = TickRun(now)
        while !run.isDone {
            let last = run
            run = try store.writer.perform { try $0.tick(last) }
        }
        return run.report
    }
}
