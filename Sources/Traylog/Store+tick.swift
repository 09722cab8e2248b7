import TraylogDomain
import TraylogPlatform

extension Store {
    /// Wakes and expires everything that is due at a time, by due time, then item, then user; expiry before waking.
    ///
    /// A store opened with ``StoreOptions/Ticking/automatic`` does this by itself. What is done stays done when a later
    /// part fails; the next tick goes on.
    ///
    /// - Parameter now: the time that counts as the present, the system's clock when nil. It decides what is due and
    ///   nothing else: events are stamped like all others.
    /// - Throws: ``TraylogError/failed(_:)``.
    /// - Complexity: O(what is due), in transactions of about 500 events.
    @discardableResult
    public func tick(now: Timestamp? = nil) async throws(TraylogError) -> TickReport {
        let outcome = await withCheckedContinuation { continuation in
            writer.enqueue(TickRequest(now: now) { continuation.resume(returning: $0) })
        }
        return try outcome.get()
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    public func tick(now: Timestamp? = nil) throws(TraylogError) -> TickReport {
        let answer = Monitor<Result<TickReport, TraylogError>?>(nil)
        writer.enqueue(
            TickRequest(now: now) { outcome in
                answer.withLock { $0 = outcome }
                answer.signalAll()
            })
        let outcome = answer.wait(timeoutMilliseconds: nil, until: { $0 != nil }, { $0 })
        guard let outcome = outcome ?? nil else { preconditionFailure("the wait ends with an outcome") }
        return try outcome.get()
    }
}
