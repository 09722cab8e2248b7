@_spi(Operations) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// The items that have not arrived yet, by the times from which they may.
    ///
    /// - Parameters:
    ///   - user: only those of this user; nil for all, broadcasts included.
    ///   - cursor: ``Page/next`` of the page before; nil for the first.
    ///   - limit: the greatest number of items; 1 to 1,000.
    /// - Throws: ``TraylogError``: refused `invalid` for an invalid limit or cursor; failed.
    /// - Complexity: reads the state of each item's stream; for one user, it passes over the rows of what is scheduled for others.
    @available(*, noasync, message: "use `await store.scheduled`; this call blocks a thread that tasks share")
    @_spi(Operations) public func scheduled(
        of user: String? = nil, after cursor: String? = nil, limit: Int = 100
    ) throws(TraylogError) -> Page<ScheduledItem, String> {
        guard 1...1_000 ~= limit else {
            throw .refused(.invalid(field: "limit", reason: "must be 1 to 1,000, not \(limit)"))
        }
        var last: DueEntry?
        if let cursor {
            guard let place = DueEntry(scheduled: cursor) else {
                throw .refused(.invalid(field: "cursor", reason: "was not given out by a page of what is scheduled"))
            }
            last = place
        }
        let stream: StreamID? = try user.map { user throws(TraylogError) in
            try queries.answer(.now, of: user) { $0.stream }
        }
        var items: [ScheduledItem] = []
        let head = try head()
        while true {
            let rows = try queries.translatingErrors { source in
                try Cancellation.checkCurrent()
                return try source.environment.read {
                    try source.tables.derived.dues.entries(
                        of: .arrivals, after: last, through: .distantFuture, limit: 1_000, in: $0)
                }
            }
            for row in rows {
                let place = last
                last = row
                guard stream ?? row.stream == row.stream,
                    let item = try queries.translatingErrors({ try $0.scheduled(row) })
                else { continue }
                guard items.count < limit else { return Page(items, next: place?.scheduledCursor, asOf: head) }
                items.append(item)
            }
            guard rows.count == 1_000 else { return Page(items, asOf: head) }
        }
    }
}

extension SnapshotSource {
    /// The item that a row promises; nil where it is gone, or comes at another time by now.
    fileprivate func scheduled(_ row: DueEntry) throws -> ScheduledItem? {
        try read(row.stream) { owner, isTopic -> ScheduledItem? in
            guard try owner.state.isDue(row, isTopic: isTopic, stored: owner.pages),
                let entry = try owner.state.entry(of: row.item, stored: owner.pages)
            else { return nil }
            let content = try owner.state.shown(entry, stored: owner.pages).content(from: owner.pages).content
            return ScheduledItem(
                seq: Seq(row.item), user: isTopic ? nil : owner.user, topic: isTopic ? owner.user : nil,
                notBefore: row.due, title: content.title)
        } ?? nil
    }
}

extension DueEntry {
    /// The time and the item, which no two rows of arrivals share.
    fileprivate var scheduledCursor: String { "\(due.milliseconds).\(item)" }

    fileprivate init?(scheduled cursor: String) {
        let parts = cursor.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2, let due = Int64(parts[0]), let item = UInt64(parts[1]) else { return nil }
        self.init(
            due: Timestamp(milliseconds: due), item: item, kind: .arrival, stream: StreamID(rawValue: .max))
    }
}

extension TrayQueries {
    /// The items that have not arrived yet, by the times from which they may, page by page; for their publisher.
    ///
    /// Until a tick lets them arrive, no tray has them. The publisher finds them here, edits them and takes them back.
    ///
    /// ```swift
    /// for item in try await store.scheduled(of: "ann").elements {
    ///     print(item.notBefore, item.title ?? "")
    ///     try await store.retract(item.seq, of: "ann")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - user: only those of this user; nil for all, broadcasts included.
    ///   - cursor: ``Page/next`` of the page before; nil for the first.
    ///   - limit: the greatest number of items; 1 to 1,000.
    /// - Throws: ``TraylogError``: refused `invalid` for an invalid name, limit or cursor; failed.
    /// - Complexity: reads the state of each item's stream; for one user, it passes over the rows of what is scheduled for others.
    public func scheduled(
        of user: String? = nil, after cursor: String? = nil, limit: Int = 100
    ) async throws(TraylogError) -> Page<ScheduledItem, String> {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.scheduled(of: user, after: cursor, limit: limit)
        }
    }
}
