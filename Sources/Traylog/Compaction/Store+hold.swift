import TraylogDomain
import TraylogQueries
import TraylogRewrite
import TraylogStates
import TraylogWriter

extension StoreUpkeep where Owner == Store {
    /// Holds a user: until a release no event of the user leaves the log in a compaction, and nobody can erase the user.
    ///
    /// A running compaction ends with `busy` and removes nothing. The name may be new. A user whose erasure has begun cannot be
    /// held: the call fails with `busy`.
    ///
    /// ```swift
    /// try await store.upkeep.hold("ann", actor: "legal")
    /// ```
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - actor: the person or program that asked for it, for the `held` event.
    ///   - device: the device it was asked from.
    /// - Returns: `unchanged` for a user who is held.
    /// - Throws: ``TraylogError``: refused `invalid`; failed, `busy` for a user who is being erased.
    /// - Complexity: O(the user's events).
    @discardableResult
    public func hold(
        _ user: String, actor: String? = nil, device: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await setHeld(true, user, actor, device)
    }

    /// Ends a hold.
    ///
    /// ```swift
    /// try await store.upkeep.release("ann", actor: "legal")
    /// ```
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - actor: the person or program that asked for it, for the `released` event.
    ///   - device: the device it was asked from.
    /// - Returns: `unchanged` for a user who is not held.
    /// - Throws: as ``hold(_:actor:device:)``.
    @discardableResult
    public func release(
        _ user: String, actor: String? = nil, device: String? = nil
    ) async throws(TraylogError) -> Receipt {
        try await setHeld(false, user, actor, device)
    }

    private func setHeld(
        _ isHeld: Bool, _ user: String, _ actor: String?, _ device: String?
    ) async throws(TraylogError) -> Receipt {
        try Store.check(user, actor, device)
        let writer = store.writer
        while true {
            let known = try await store.asking { store throws(TraylogError) in try store.knownHold(on: user) }
            let receipt: Receipt? = try await Waiting.suspended { answer in
                writer.perform(
                    { try $0.setHeld(isHeld, user, knowing: known, actor: actor, device: device) }, answer: answer)
            }
            if let receipt { return receipt }
        }
    }
}

extension Store {
    static func check(
        _ user: String, _ actor: String?, _ device: String?, purpose: String? = nil
    ) throws(TraylogError) {
        do {
            try Limits.check(identifier: user, "user")
            try Limits.check(identifier: actor, "actor")
            try Limits.check(identifier: device, "device")
            try Limits.check(identifier: purpose, "purpose")
        } catch {
            throw .refused(error)
        }
    }
}

extension BlockingStore {
    /// Holds a user; see ``StoreUpkeep/hold(_:actor:device:)``.
    ///
    /// - Throws: as that one.
    @available(*, noasync, message: "use `await store.upkeep.hold`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func hold(_ user: String, actor: String? = nil, device: String? = nil) throws(TraylogError)
        -> Receipt
    {
        try setHeld(true, user, actor, device)
    }

    /// Ends a hold.
    ///
    /// - Throws: as ``hold(_:actor:device:)``.
    @available(*, noasync, message: "use `await store.upkeep.release`; this call blocks a thread that tasks share")
    @discardableResult
    @_spi(Operations) public func release(_ user: String, actor: String? = nil, device: String? = nil)
        throws(TraylogError) -> Receipt
    {
        try setHeld(false, user, actor, device)
    }

    private func setHeld(
        _ isHeld: Bool, _ user: String, _ actor: String?, _ device: String?
    ) throws(TraylogError) -> Receipt {
        try Store.check(user, actor, device)
        while true {
            let known = try knownHold(on: user)
            let receipt = try store.writer.perform {
                try $0.setHeld(isHeld, user, knowing: known, actor: actor, device: device)
            }
            if let receipt { return receipt }
        }
    }
}

extension BlockingQueries {
    /// Whether a user is held (``StoreUpkeep/hold(_:actor:device:)``).
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(the user's events).
    @available(*, noasync, message: "use `await store.upkeep.isHeld`; this call blocks a thread that tasks share")
    @_spi(Operations) public func isHeld(_ user: String) throws(TraylogError) -> Bool {
        try hold(of: user) != nil
    }

    /// The same, with a head that it holds for; the writer adds what came since.
    fileprivate func knownHold(on user: String) throws(TraylogError) -> KnownHold {
        let head = try self.head()
        return KnownHold(isHeld: try isHeld(user), asOf: head)
    }
}

extension StoreUpkeep {
    /// Whether a user is held (``StoreUpkeep/hold(_:actor:device:)``).
    ///
    /// ```swift
    /// print(try await store.upkeep.isHeld("ann"))
    /// ```
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(the user's events).
    public func isHeld(_ user: String) async throws(TraylogError) -> Bool {
        try await store.asking { store throws(TraylogError) in try store.isHeld(user) }
    }
}
