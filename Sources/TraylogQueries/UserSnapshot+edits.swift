@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogStates

extension UserSnapshot {
    /// Events of a stream that are looked at together.
    private static let streamWindow = 1_000

    /// Visits the edits of an item after `first` through `end`, ascending, as far as the log holds them, until `body` answers false.
    ///
    /// - Complexity: O(events of the item's stream in between): the user's, or for a broadcast the topic's.
    package func forEachEdit(
        of item: UInt64, after first: UInt64, through end: UInt64, _ body: (UInt64) throws -> Bool
    ) throws {
        let topic: Identity? =
            if case .broadcast(let name, _) = try pages.event(item).body {
                hasher.identity(of: name, as: .topic)
            } else {
                nil
            }
        try forEach(.edited, of: item, topic, after: max(first, item), through: end, body)
    }

    /// The event with which a scheduled broadcast arrived; nil while it has not.
    package func arrival(ofBroadcast item: UInt64, to topic: Identity, through end: UInt64) throws -> UInt64? {
        var arrival: UInt64?
        try forEach(.arrived, of: item, topic, after: item, through: end) { seq in
            arrival = seq
            return false
        }
        return arrival
    }

    private func forEach(
        _ kind: EventKind, of item: UInt64, _ topic: Identity?, after first: UInt64, through end: UInt64,
        _ body: (UInt64) throws -> Bool
    ) throws {
        var last = first
        while last < end {
            let seqs = try streamEvents(topic, after: last, through: end)
            for seq in seqs where try store.holds(seq) {
                let fact = try store.fact(seq)
                guard fact.kind == kind, fact.item == item else { continue }
                guard try body(seq) else { return }
            }
            guard seqs.count == Self.streamWindow, let newest = seqs.last else { return }
            last = newest
        }
    }

    /// The next events of a topic, or without one of the user.
    private func streamEvents(_ topic: Identity?, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard let topic else {
            return try state.events(from: seq + 1, through: end, limit: Self.streamWindow, stored: pages)
        }
        guard let past else { preconditionFailure("The past of a user was not asked for.") }
        return try history(past).events(ofTopic: topic, after: seq, through: end, limit: Self.streamWindow)
    }
}
