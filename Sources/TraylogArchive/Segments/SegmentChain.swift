@_spi(Replication) import TraylogDomain

/// The segments that have the log of one history from event 1 on, each with the events to take from it.
///
/// A segment of an earlier history counts up to the event at which the next one began. Where several have an event, the one that
/// reaches furthest counts, and of equal ones the one that more erasures have rewritten.
package struct SegmentChain: Hashable, Sendable {
    /// A segment, and the first and the last event to take from it.
    package struct Link: Hashable, Sendable {
        package let name: SegmentName
        package let first: UInt64
        package let last: UInt64

        package init(name: SegmentName, first: UInt64, last: UInt64) {
            (self.name, self.first, self.last) = (name, first, last)
        }
    }

    package private(set) var links: [Link] = []
    /// The events that no segment has, though a later one of this history is there; nil for none.
    package private(set) var gap: ClosedRange<UInt64>?

    /// The last event that all segments from the first one on have; 0 for none.
    package var through: UInt64 { links.last?.last ?? 0 }

    /// - Complexity: O(n log n) in the number of segments.
    package init(_ segments: [SegmentName], of history: StoreHistory) {
        var candidates = segments.compactMap { Self.link($0, in: history) }
        candidates.sort { ($0.first, $0.last, $0.name.rewrites) < ($1.first, $1.last, $1.name.rewrites) }
        var next: UInt64 = 1
        var best: Link?
        for candidate in candidates {
            if candidate.first > next {
                append(&best, &next)
                guard candidate.first <= next else {
                    gap = next...(candidate.first - 1)
                    return
                }
            }
            guard candidate.last >= next else { continue }
            if best.map({ ($0.last, $0.name.rewrites) < (candidate.last, candidate.name.rewrites) }) ?? true {
                best = candidate
            }
        }
        append(&best, &next)
    }

    private mutating func append(_ best: inout Link?, _ next: inout UInt64) {
        guard let link = best else { return }
        links.append(Link(name: link.name, first: next, last: link.last))
        next = link.last + 1
        best = nil
    }

    /// What a history takes of a segment; nil for one of another history.
    private static func link(_ name: SegmentName, in history: StoreHistory) -> Link? {
        let forks = history.forks
        var next = 0
        if name.history != 0 {
            guard let own = forks.firstIndex(where: { $0.id == name.history }) else { return nil }
            next = own + 1
        }
        let end = next < forks.count ? UInt64(forks[next].after) : .max
        guard name.first <= end else { return nil }
        return Link(name: name, first: name.first, last: min(name.last, end))
    }
}

/// One of the histories that an archive has: the log of the store, or of a store that was restored from a copy of it.
package struct SegmentBranch: Hashable, Sendable {
    package let history: StoreHistory
    package let chain: SegmentChain
    /// When the newest of its events was recorded.
    package let lastAt: Timestamp

    package init(history: StoreHistory, chain: SegmentChain, lastAt: Timestamp = Timestamp(milliseconds: .min)) {
        (self.history, self.chain, self.lastAt) = (history, chain, lastAt)
    }

    /// The name of the history as file names have it.
    package var name: String { String(history.forks.last?.id ?? 0, radix: 36) }
}
