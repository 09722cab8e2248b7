@_spi(Operations) import TraylogChecks
import TraylogDomain
@_spi(Operations) import TraylogEvidence
@_spi(Operations) import TraylogQueries
import TraylogStates

extension BlockingQueries {
    /// How the items that came in a stretch of the log stand at its end, in the order of their seqs.
    ///
    /// - Parameters:
    ///   - start: the moment before the stretch.
    ///   - end: its last event.
    /// - Throws: ``TraylogError``: refused `compacted`, `upToBeyondHead`; failed.
    /// - Complexity: O(the user's items).
    @available(*, noasync, message: "this call blocks a thread that tasks share")
    @_spi(Operations) public func arrivals(
        of user: String, after start: Seq, through end: Seq
    ) throws(TraylogError) -> [ItemStanding] {
        try queries.answer(.past, of: user) { now in
            try ItemComparison(now.at(.seq(start)), now.at(.seq(end))).standings().compactMap { item in
                item.before == nil ? item.after : nil
            }
        }
    }

    /// Compares a user's tray right after one moment with the tray right after another.
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - from: the earlier moment.
    ///   - to: the later moment; nil for now.
    ///   - limit: the largest number of items, and of steps, in the result: the newest ones; nil for all.
    ///   - progress: called at times with the number of events read, and of all events between the moments.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, and `invalid` (field `from`) when `from` is after `to`.
    /// - Complexity: O(the user's items + events in between). Each event that can touch all items, such as `traySeen`,
    ///   `allMarked`, `undone` and one with a collapse key, costs another O(the user's items).
    @available(*, noasync, message: "use `await store.proofs.difference`; this call blocks a thread that tasks share")
    @_spi(Operations) public func difference(
        of user: String, from: Moment, to: Moment? = nil, limit: Int? = nil,
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(TraylogError) -> TrayDifference {
        try queries.answer(.past, of: user) { now in
            try Limits.check(limit ?? 0, in: 0...Int.max, "limit")
            let store = now.store
            let end = try store.seq(of: to, "to")
            let start = try store.seq(of: from, "from")
            guard start <= end else { throw Refusal.invalid(field: "from", reason: "is after the later moment") }
            let (old, new) = (try now.at(start), try now.at(end))
            var changes = try ItemComparison(old, new).changes(limit: limit)
            var steps: [AuditStep] = []
            let fold = try StepFold(now, after: start, through: end)
            var before = TrayCounts(fold.base.state)
            var tracker = ChangeTracker(changes.map { ($0.entry, $0.change.before) }, pages: fold.base.pages)
            _ = try fold.run { state, seq in
                let (after, fact) = (TrayCounts(state), try store.fact(seq))
                // Who looked at a tray did not touch it.
                if fact.kind != .audited { steps.append(AuditStep(seq: Seq(seq), before: before, after: after)) }
                before = after
                try tracker.follow(state, fact)
                if steps.count.isMultiple(of: 256) { progress(seq - start, end - start) }
            }
            for index in changes.indices { changes[index].change.by = tracker.events(of: changes[index].change.item) }
            return TrayDifference(
                user: user, before: try old.tray(), after: try new.tray(), items: changes.map(\.change),
                steps: Array(steps.suffix(limit ?? steps.count)))
        }
    }
}
