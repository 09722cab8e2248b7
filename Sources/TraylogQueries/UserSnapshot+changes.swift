@_spi(Replication) import TraylogDomain
import TraylogStates

extension UserSnapshot {
    /// Events of each stream that are looked at together.
    private static let window = 1_000

    package func changes(after first: UInt64, limit: Int) throws -> Changes {
        var changes = Changes(
            user: user, stream: stream.rawValue, events: [], through: Seq(store.head),
            history: store.record.history, head: Seq(store.head))
        guard stream != .absent else { return changes }
        let window = max(limit, Self.window)
        var end = store.head
        let own = try state.events(from: first + 1, through: end, limit: window, stored: pages)
        if own.count == window { end = own[window - 1] }
        var candidates = own.map { (seq: $0, isOwn: true) }
        for topic in state.topics {
            let seqs = try topicEvents(topic.topic, after: first, through: end, limit: window)
            if seqs.count == window { end = min(end, seqs[window - 1]) }
            candidates += seqs.map { ($0, false) }
        }
        candidates.sort { $0.seq < $1.seq }
        for candidate in candidates where candidate.seq <= end {
            guard try candidate.isOwn || reaches(candidate.seq) else { continue }
            changes.events.append(try pages.event(candidate.seq))
            if changes.events.count == limit {
                end = candidate.seq
                break
            }
        }
        changes.through = Seq(end)
        return changes
    }

    package func version() throws -> TrayVersion {
        TrayVersion(stream: stream.rawValue, newestChange: Seq(try newestChange()), store.record.history)
    }

    private func newestChange() throws -> UInt64 {
        var newest = state.events.last
        for topic in state.topics {
            let seqs = try topicEvents(topic.topic, after: newest, through: store.head, limit: .max)
            newest = try seqs.reversed().first { try reaches($0) } ?? newest
        }
        return newest
    }

    private func topicEvents(
        _ topic: Identity, after seq: UInt64, through end: UInt64, limit: Int
    ) throws -> [UInt64] {
        guard let past else { preconditionFailure("The past of a user was not asked for.") }
        return try history(past).events(ofTopic: topic, after: seq, through: end, limit: limit)
    }

    /// Whether an event of a topic changed the user's items.
    ///
    /// No item ever leaves a state, so the present one can tell. An event that left the log counts, because nothing says any
    /// more which item it changed: a reader with an older version asks once in vain.
    private func reaches(_ seq: UInt64) throws -> Bool {
        guard try store.holds(seq) else { return true }
        let fact = try store.fact(seq)
        guard let entry = try state.entry(of: fact.kind == .broadcast ? seq : fact.target, stored: pages) else {
            return false
        }
        // What was scheduled concerned nobody before it arrived.
        guard entry.position != entry.seq, let arrival = try state.shown(entry, stored: pages).arrival else {
            return true
        }
        return seq >= arrival
    }
}
