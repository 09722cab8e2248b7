extension TrayState {
    /// Folds in the events that the state does not hold yet: the user's own and those of topics, in the order of seqs.
    ///
    /// - Parameters:
    ///   - first: the user's own event to begin with; 0 for none.
    ///   - end: the last event to fold.
    ///   - voided: events to pass over, because they were undone.
    ///   - next: returns the user's own event after a given one; 0 for none.
    ///   - landmark: called with each state that is worth keeping, when it is reached.
    /// - Returns: the user's own event after `end`; 0 for none.
    /// - Throws: what `stored`, `history` and `next` throw; the state is then unusable.
    /// - Complexity: ``apply(_:stored:)`` for each event. A user without topics costs no other lookups.
    @discardableResult
    package mutating func catchUp<History: FoldHistory>(
        own first: UInt64, through end: UInt64, stored: some StatePages, history: History,
        skipping voided: Set<UInt64> = [], next: (UInt64) throws -> UInt64,
        landmark: (borrowing TrayState) -> Void = { _ in }
    ) throws -> UInt64 {
        var own = first
        var pending = try pendingTopicEvents(through: end, history)
        while true {
            if own != 0, own <= end, pending.last.map({ own < $0.seq }) ?? true {
                let fact = try history.fact(own)
                try take(fact, stored: stored, history: history, skipping: voided)
                try renew(&pending, after: fact, through: end, history)
                own = try next(own)
            } else if let event = pending.popLast() {
                try apply(try history.fact(event.seq), ofTopic: event.topic, stored: stored)
            } else {
                return own
            }
            if isLandmark { landmark(self) }
        }
    }

    private mutating func take<History: FoldHistory>(
        _ fact: borrowing Fact, stored: some StatePages, history: History, skipping voided: Set<UInt64>
    ) throws {
        if !voided.isEmpty, voided.contains(fact.seq) {
            try pass(fact, stored: stored)
        } else if fact.kind == .undone, voided.isEmpty, fact.seq > appliedSeq {
            try undo(fact, stored: stored, history: history)
        } else {
            try apply(fact, stored: stored)
        }
    }

    /// The events of the state's topics that it does not hold, in descending order.
    private func pendingTopicEvents(
        through end: UInt64, _ history: some FoldHistory
    ) throws -> [(seq: UInt64, topic: Identity)] {
        guard !topics.isEmpty, appliedSeq < end else { return [] }
        if let all = try history.topicEvents(after: appliedSeq, through: end) {
            return all.reversed().filter { subscription(to: $0.topic) != nil }
        }
        var pending: [(seq: UInt64, topic: Identity)] = []
        for subscription in topics {
            for seq in try history.events(ofTopic: subscription.topic, after: appliedSeq, through: end) {
                pending.append((seq, subscription.topic))
            }
        }
        pending.sort { $0.seq > $1.seq }
        return pending
    }

    /// Brings ``pendingTopicEvents(through:_:)`` up to date after an event that may have changed the user's set of topics.
    private func renew(
        _ pending: inout [(seq: UInt64, topic: Identity)], after fact: borrowing Fact, through end: UInt64,
        _ history: some FoldHistory
    ) throws {
        let topic = fact.topic
        switch fact.kind {
        case .undone: pending = try pendingTopicEvents(through: end, history)
        case .unsubscribed where subscription(to: topic) == nil: pending.removeAll { $0.topic == topic }
        case .subscribed where !pending.contains { $0.topic == topic }:
            let seqs = try history.events(ofTopic: topic, after: appliedSeq, through: end)
            guard !seqs.isEmpty else { break }
            pending = (pending + seqs.map { ($0, topic) }).sorted { $0.seq > $1.seq }
        default: break
        }
    }
}
