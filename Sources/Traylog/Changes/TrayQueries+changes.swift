@_spi(Replication) import TraylogDomain
import TraylogLog
@_spi(Replication) import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// A user's own events and the visible ones of topics after `seq`, in order.
    ///
    /// An answer may have fewer than `limit` events although more follow: ``Changes/through`` says how far it goes.
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - seq: the ``Changes/through`` of the answer before; 0 for the beginning.
    ///   - history: the ``Changes/history`` of the answer before; nil to assume that the store is still the same.
    ///   - limit: events in the answer, at most 10,000.
    /// - Throws: ``TraylogError``: refused `compacted` below the floor, `upToBeyondHead`, `invalid`, `rewound` when the store was
    ///   restored meanwhile and lacks the event; failed.
    /// - Complexity: O(limit), plus the topics' events that did not reach the user.
    @available(*, noasync, message: "use `await store.changes`; this call blocks a thread that tasks share")
    @_spi(Replication) public func changes(
        of user: String, after seq: Seq = .zero, history: StoreHistory? = nil, limit: Int = 1_000
    ) throws(TraylogError) -> Changes {
        try queries.answer(.past, of: user) { now in
            guard (1...10_000).contains(limit) else {
                throw Refusal.invalid(field: "limit", reason: "must be 1 to 10000, not \(limit)")
            }
            try history.map { try now.store.record.history.check($0, at: seq) }
            _ = try now.store.seq(of: .seq(seq), "after")
            return try now.changes(after: seq.rawValue, limit: limit)
        }
    }

    /// The version of a user's tray.
    ///
    /// It changes with each event that ``changes(of:after:history:limit:)`` shows, and with no other.
    ///
    /// - Complexity: O(events of the user's topics after the user's last own event).
    @available(*, noasync, message: "use `await store.version`; this call blocks a thread that tasks share")
    @_spi(Replication) public func version(of user: String) throws(TraylogError) -> TrayVersion {
        try queries.answer(.past, of: user) { try $0.version() }
    }

    /// Whether a stream (``Changes/stream``) belonged to a person who was erased.
    @available(*, noasync, message: "use `await store.isErased`; this call blocks a thread that tasks share")
    @_spi(Operations) public func isErased(stream: UInt32) throws(TraylogError) -> Bool {
        let stream = StreamID(rawValue: stream)
        if let root = try queries.answer({ try $0.root(stream) }) { return root.name == .erased(stream) }
        // Its state is not stored yet.
        return try queries.answer(.now, of: Pseudonym.name(ofStream: stream)) { $0.stream == stream }
    }

    /// The events that the store shares with its copies.
    ///
    /// They show whether a seq from before a restore still names the same event.
    @_spi(Replication) public func storeHistory() throws(TraylogError) -> StoreHistory {
        try queries.answer { $0.record.history }
    }

    /// Identifies the store, in 32 characters: a restored one has another identity than the exported one, a backup the same.
    @available(*, noasync, message: "use `await store.storeIdentity`; this call blocks a thread that tasks share")
    @_spi(Replication) public func storeIdentity() throws(TraylogError) -> String {
        let identity = try identity()
        return [identity.first, identity.second].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
