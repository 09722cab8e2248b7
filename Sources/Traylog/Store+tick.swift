import TraylogDomain
import TraylogWriter

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
        try await Waiting.suspended { (answer: @escaping Waiting.Answer<TickReport>) in
            writer.perform({ try $0.tick(now) }, answer: answer)
        }
    }

    /// The same, blocking the calling thread; for threads, not for tasks.
    @discardableResult
    package func tick(now: Timestamp? = nil) throws(TraylogError) -> TickReport {
        try writer.perform { try $0.tick(now) }
    }
}
