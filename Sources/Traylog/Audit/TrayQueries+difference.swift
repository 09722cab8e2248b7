import TraylogDomain
import TraylogLMDB

extension TrayQueries {
    /// What changed in a user's tray from right after one moment to right after another.
    ///
    /// - Parameters:
    ///   - from: the earlier moment.
    ///   - to: the later one; without it, now.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`, and `invalid` (field `from`) when `from` is after `to`.
    /// - Complexity: O(the user's items), and the events in between; those that can touch all items (looking at the tray,
    ///   marking all, undoing, superseding) cost a look at each item again.
    public func difference(
        of user: String, from: Moment, to: Moment? = nil
    ) throws(TraylogError) -> TrayDifference {
        try queries.answer { source in
            try Limits.check(identifier: user, "user")
            let end = try source.seq(of: to) ?? source.head().rawValue
            let start = try source.seq(of: from) ?? 0
            guard start <= end else { throw Refusal.invalid(field: "from", reason: "is after the later moment") }
            let (old, new) = (try source.view(of: user, at: start), try source.view(of: user, at: end))
            var changes = try ItemComparison(old, new).changes()
            var steps: [AuditStep] = []
            let fold = try StepFold(source, of: user, after: start, through: end)
            var before = TrayCounts(fold.base.state)
            var tracker = ChangeTracker(changes, base: fold.base)
            _ = try fold.run { state, seq in
                let after = TrayCounts(state)
                steps.append(AuditStep(seq: Seq(seq), before: before, after: after))
                before = after
                try tracker.follow(state, source.fact(seq, new.hasher))
            }
            for index in changes.indices { changes[index].by = tracker.events(of: changes[index].item) }
            return TrayDifference(
                user: user, before: try old.state.tray(of: user, asOf: Seq(start), source: old.pages),
                after: try new.state.tray(of: user, asOf: Seq(end), source: new.pages), items: changes, steps: steps)
        }
    }
}
