import TraylogDomain
import TraylogPlatform
import TraylogStates

/// Summaries of stretches of a topic's events: each the tray of a subscriber who received them and did nothing.
///
/// A list of all users would otherwise fold each broadcast once for every subscriber. Users who looked last between the
/// same two events of a topic share a summary, so a stretch is folded once for all of them.
package final class TopicStretches: Sendable {
    /// Summaries of all topics that are kept at once.
    private static let keptSummaries = 10_000

    private struct Topic {
        /// The topic's events after `after` through `through`, ascending.
        var seqs: [UInt64]
        var after: UInt64
        var through: UInt64
    }

    /// The events of a topic from `first` through `last`.
    private struct Stretch: Hashable {
        var topic: Identity
        var first: UInt64
        var last: UInt64
    }

    private struct Known {
        var topics: [Identity: Topic] = [:]
        /// Nil where an event of the stretch changes an item from before it: its effect depends on the user.
        var summaries: [Stretch: Tray?] = [:]
        var folded = 0
        /// The seqs of all topics.
        var seqs = 0

        /// Keeps the events of a topic, and lets go of all others when they are too many: a reader that lives long is asked about
        /// ever more topics, whose events become ever more.
        mutating func keep(_ events: Topic, of topic: Identity, _ seqsAtMost: Int) {
            seqs += events.seqs.count - (topics[topic]?.seqs.count ?? 0)
            topics[topic] = events
            guard seqs > seqsAtMost || topics.count > TopicStretches.topicsAtMost else { return }
            (topics, seqs) = ([:], 0)
        }
    }

    /// Topics whose events are kept at once.
    private static let topicsAtMost = 100_000
    /// Events that are kept of all topics together; 8 bytes each.
    private let seqsAtMost: Int
    private let known = Monitor(Known())

    package init(seqsAtMost: Int = 1 << 20) { self.seqsAtMost = seqsAtMost }

    /// Events of topics that are kept, for tests.
    package var keptSeqs: Int { known.withLock { $0.topics.values.reduce(0) { $0 + $1.seqs.count } } }

    /// Events that were folded so far.
    package var folded: Int { known.withLock { $0.folded } }

    /// The tray of a user from a state that lacks nothing but events of topics; nil when those have to be folded in one by
    /// one.
    ///
    /// - Parameter history: of no user.
    /// - Complexity: O(1) for each stretch that is known, else O(events of the stretch).
    func tray(
        of user: String, _ state: TrayState, pages: StoredPages, through head: UInt64, history: SnapshotHistory
    ) throws -> Tray? {
        guard state.mutes.isEmpty else { return nil }
        var tray = try state.tray(of: user, asOf: Seq(head), source: pages)
        for subscription in state.topics {
            guard let stretch = try stretch(subscription.topic, after: state.appliedSeq, through: head, history)
            else { continue }
            // Somebody who left receives nothing, but may have items that are edited or expire.
            guard subscription.isActive, let summary = try summary(of: stretch, history) else { return nil }
            tray.add(summary)
        }
        return tray
    }

    /// The events of a topic after `seq` through `head`; nil when there are none.
    private func stretch(
        _ topic: Identity, after seq: UInt64, through head: UInt64, _ history: SnapshotHistory
    ) throws -> Stretch? {
        var events = known.withLock { $0.topics[topic] } ?? Topic(seqs: [], after: seq, through: seq)
        if seq < events.after {
            events.seqs.insert(contentsOf: try history.events(ofTopic: topic, after: seq, through: events.after), at: 0)
            events.after = seq
        }
        if events.through < head {
            events.seqs += try history.events(ofTopic: topic, after: events.through, through: head)
            events.through = head
        }
        known.withLock { [events, seqsAtMost] in $0.keep(events, of: topic, seqsAtMost) }
        let first = events.seqs.partition(after: seq)
        let end = events.seqs.partition(after: head)
        guard first < end else { return nil }
        return Stretch(topic: topic, first: events.seqs[first], last: events.seqs[end - 1])
    }

    private func summary(of stretch: Stretch, _ history: SnapshotHistory) throws -> Tray? {
        if let known = known.withLock({ $0.summaries[stretch] }) { return known }
        let seqs = try history.events(ofTopic: stretch.topic, after: stretch.first - 1, through: stretch.last)
        let (summary, count) = (try fold(seqs, stretch, history), seqs.count)
        known.withLock { known in
            if known.summaries.count >= Self.keptSummaries { known.summaries.removeAll() }
            known.summaries[stretch] = .some(summary)
            known.folded += count
        }
        return summary
    }

    private func fold(_ seqs: [UInt64], _ stretch: Stretch, _ history: SnapshotHistory) throws -> Tray? {
        var state = TrayState(subscribedTo: stretch.topic)
        for seq in seqs {
            let fact = try history.fact(seq)
            if fact.kind != .broadcast, fact.item < stretch.first { return nil }
            try state.apply(fact, ofTopic: stretch.topic, stored: history.pages)
        }
        return try state.tray(of: "", asOf: Seq(stretch.last), source: history.pages)
    }
}

extension Tray {
    /// Adds the items of another tray that nobody has seen.
    fileprivate mutating func add(_ newer: Tray) {
        unseen += newer.unseen
        unread += newer.unread
        awaiting += newer.awaiting
        total += newer.total
        newest = [newest, newer.newest].compactMap(\.self).max()
        newestCounted = [newestCounted, newer.newestCounted].compactMap(\.self).max()
        for count in newer.categories {
            if let index = categories.firstIndex(where: { $0.category.hasSameBytes(as: count.category) }) {
                categories[index].unseen += count.unseen
                categories[index].unread += count.unread
            } else {
                categories.append(count)
            }
        }
        categories.sort { $0.category.precedesInBytes($1.category) }
    }
}

extension [UInt64] {
    /// The index of the first element above `value`, in ascending elements.
    fileprivate func partition(after value: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
