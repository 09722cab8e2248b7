import TraylogDomain
import TraylogFold
import TraylogQueries
@_spi(Replication) import TraylogReplica
import TraylogStates
import TraylogWriter

extension Store {
    /// Records that somebody reads a user's whole history: appends `audited`, which changes nothing in the tray.
    ///
    /// The event has the revision of each topic from which the user can have items, so it closes a complete history.
    ///
    /// ```swift
    /// try await store.recordAccess(of: "ann", actor: "support", purpose: "complaint 17")
    /// ```
    ///
    /// - Parameters:
    ///   - user: the user whose history is read.
    ///   - actor: the reader; the user when nil.
    ///   - device: the device it was asked from.
    ///   - purpose: the reason, in 1 to 256 bytes without control characters.
    /// - Returns: the event.
    /// - Throws: ``TraylogError``: refused `invalid`, also for a person who has no events or was erased; failed.
    /// - Complexity: O(the user's events since the oldest subscription that counts).
    @discardableResult
    public func recordAccess(
        of user: String, actor: String? = nil, device: String? = nil, purpose: String? = nil
    ) async throws(TraylogError) -> Seq {
        try await queries.longPool.work { [blocking] (_) throws(TraylogError) in
            try blocking.recordAccess(of: user, actor: actor, device: device, purpose: purpose)
        }
    }
}

extension BlockingStore {
    /// Records that somebody reads a user's whole history; see ``Store/recordAccess(of:actor:device:purpose:)``.
    ///
    /// - Throws: as that one.
    @available(*, noasync, message: "use `await store.recordAccess`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func recordAccess(
        of user: String, actor: String? = nil, device: String? = nil, purpose: String? = nil
    ) throws(TraylogError) -> Seq {
        try Store.check(user, actor, device, purpose: purpose)
        while true {
            // Names are looked up before the writer's turn, because that may take long.
            let topics = try queries.answer(.now, of: user) { now in
                guard now.stream != .absent else {
                    throw Refusal.invalid(field: "user", reason: "has no events: there is nothing to read")
                }
                let named = try NamingEvents(
                    of: now.state, stored: now.pages, hasher: now.hasher, log: now.store.tables.log.events,
                    rows: now.store)
                return named.topics.map(\.topic)
            }
            let appended = try store.writer.perform {
                try $0.appendAudited(of: user, topics: topics, actor: actor, device: device, purpose: purpose)
            }
            if let appended { return appended }
        }
    }
}
