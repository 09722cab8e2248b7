import TraylogDomain
import TraylogQueries
import TraylogRewrite
import TraylogStates
import TraylogWriter

extension Store {
    /// Holds a user: until a release no event of the user leaves the log in a compaction, and nobody can erase the user. The
    /// name may be new.
    ///
    /// - Parameter actor: who asked for it, for the `held` event.
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(the user's events).
    @discardableResult
    public func hold(_ user: String, actor: String? = nil, device: String? = nil) throws(TraylogError) -> Receipt {
        guard try !isHeld(user) else { return .unchanged }
        return .appended(try append(.held, of: user, actor, device))
    }

    /// Ends a hold.
    @discardableResult
    public func release(_ user: String, actor: String? = nil, device: String? = nil) throws(TraylogError) -> Receipt {
        guard try isHeld(user) else { return .unchanged }
        return .appended(try append(.released, of: user, actor, device))
    }

    private func append(
        _ body: Event.Body, of user: String, _ actor: String?, _ device: String?
    ) throws(TraylogError) -> Seq {
        do {
            try Limits.check(identifier: user, "user")
            if let actor { try Limits.check(identifier: actor, "actor") }
            if let device { try Limits.check(identifier: device, "device") }
        } catch {
            throw .refused(error)
        }
        return try writer.perform(isWrite: true) { try $0.append(body, of: user, actor: actor, device: device) }
    }
}

extension TrayQueries {
    /// Whether a user is held (``Store/hold(_:actor:device:)``).
    ///
    /// - Complexity: O(the user's events).
    public func isHeld(_ user: String) throws(TraylogError) -> Bool {
        var filter = EventFilter()
        filter.user = user
        filter.kinds = [.held, .released]
        return try search(filter, newestFirst: true, limit: 1).events.first?.kind == .held
    }
}
