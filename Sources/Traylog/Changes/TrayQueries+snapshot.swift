@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates
@_spi(Replication) import TraylogReplica

extension BlockingQueries {
    /// One page of a user's tray as it was right after an event, as a starting point for a copy elsewhere.
    ///
    /// Folding all pages and then the ``changes(of:after:history:limit:)`` after ``TraySnapshot/asOf`` gives the same answers as folding
    /// all events, unless one of them undoes an event of the snapshot. ``TrayReplica`` does this.
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - asOf: the moment; nil for now. Ignored with a cursor, which has it.
    ///   - cursor: ``TraySnapshot/next`` of the page before.
    ///   - limit: items in a page, 1 to 10,000.
    ///   - contents: the number of newest items whose content the page has.
    /// - Throws: ``TraylogError``: refused `compacted` below the floor, also when the floor moved between two pages,
    ///   `upToBeyondHead`, `invalid`, `rewound` for a cursor from before the store was restored, `erased` when the user of the
    ///   cursor was erased; failed.
    /// - Complexity: O(items above the cursor), and reading the events of a page.
    @available(*, noasync, message: "use `await store.snapshot`; this call blocks a thread that tasks share")
    @_spi(Replication) public func snapshot(
        of user: String, asOf: Moment? = nil, cursor: SnapshotCursor? = nil, limit: Int = 10_000, contents: Int = 200
    ) throws(TraylogError) -> TraySnapshot {
        try queries.answer(.past, of: user) { now in
            guard (1...10_000).contains(limit) else {
                throw Refusal.invalid(field: "limit", reason: "must be 1 to 10000, not \(limit)")
            }
            if let cursor, cursor.stream != now.stream.rawValue {
                let stream = StreamID(rawValue: cursor.stream)
                if try now.store.root(stream)?.name == .erased(stream) { throw Refusal.erased(user: user) }
                throw Refusal.invalid(field: "cursor", reason: "is not of this user")
            }
            try cursor.map { try now.store.record.history.check($0.history, at: $0.asOf) }
            let view = try now.at(cursor.map { .seq($0.asOf) } ?? asOf)
            return try view.snapshot(after: cursor?.after.rawValue ?? 0, limit: limit, contents: contents)
        }
    }
}
