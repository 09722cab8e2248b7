import TraylogDomain
import TraylogQueries
import TraylogStates

/// When a user who is erased was subscribed to which topics: all that is left of what the user received.
///
/// It says for how many erased people a broadcast was, and nothing about them.
struct ErasedSpans {
    private var closed: [SubscriptionSpan] = []
    private var open: [Identity: (topic: String, from: Seq)] = [:]
    private let hasher: IdentityHasher
    /// The newest own event that was looked at.
    private(set) var through: UInt64 = 0

    /// - Complexity: O(the user's events and, after a compaction, items).
    init(of now: UserSnapshot) throws {
        hasher = now.hasher
        let end = now.state.appliedSeq
        var first: UInt64? = 1
        while let next = first {
            let (events, following) = try now.events(from: next, through: end, limit: .max)
            for event in events { note(event) }
            first = following
        }
        through = end
        guard now.store.record.floor.seq > .zero else { return }
        // If a topic was left and joined again, the log may hold only the last time.
        try now.state.forEachItem(below: .max, stored: now.pages) { _, entry in
            guard now.store.record.floor.isAbove(entry.seq), try now.store.holds(entry.seq),
                case .broadcast(let topic, _) = try now.pages.event(entry.seq).body
            else { return true }
            let seq = Seq(try now.state.shown(entry, stored: now.pages).base)
            guard !holds(seq, of: topic) else { return true }
            closed.append(SubscriptionSpan(topic: topic, from: seq - 1, to: seq + 1))
            return true
        }
    }

    private func holds(_ seq: Seq, of topic: String) -> Bool {
        let isOpen = open[hasher.identity(of: topic, as: .topic)].map { $0.from < seq } ?? false
        return isOpen || closed.contains { $0.contains(seq) && $0.topic.hasSameBytes(as: topic) }
    }

    /// Takes in an own event; they come in order.
    mutating func note(_ event: Event) {
        through = event.seq.rawValue
        switch event.body {
        case .subscribed(let topic, _):
            open[hasher.identity(of: topic, as: .topic)] = (topic, event.seq)
        case .unsubscribed(let topic, _):
            guard let (topic, from) = open.removeValue(forKey: hasher.identity(of: topic, as: .topic)) else { return }
            closed.append(SubscriptionSpan(topic: topic, from: from, to: event.seq))
        default: break
        }
    }

    /// All spans, ended by the `erased` event at the latest, in the order of their beginnings.
    func all(endedBy end: Seq) -> [SubscriptionSpan] {
        (closed + open.values.map { SubscriptionSpan(topic: $0.topic, from: $0.from, to: end) })
            .sorted { $0.from < $1.from }
    }
}
