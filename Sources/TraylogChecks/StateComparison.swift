import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

/// A stored state held against the one that the log gives.
struct StateComparison {
    let stored: TrayState
    /// Of the stored state.
    let pages: StoredPages
    /// With all of its pages.
    let folded: TrayState

    /// The first difference in words; nil when there is none.
    func difference() throws -> String? {
        var (mine, theirs): ([UInt8], [UInt8]) = ([], [])
        stored.pack(into: &mine)
        folded.pack(into: &theirs)
        // The packed form has every counter; which one it is, is only asked when there is a difference.
        if mine != theirs { return counters() ?? rootDifference() }
        return try pageDifference()
    }

    private func counters() -> String? {
        let fields: [(String, KeyPath<TrayState, UInt64>)] = [
            ("the newest event", \.appliedSeq), ("total", \.total), ("unseen", \.unseen), ("unread", \.unread),
            ("awaiting", \.awaiting),
            ("seenUpTo", \.seenUpTo), ("the event of seenAt", \.seenBy), ("newest", \.newest.listed),
            ("newestCounted", \.newest.counted), ("the number of pages", \.sealedPages),
            ("the number of events", \.events.count),
        ]
        for (name, field) in fields where stored[keyPath: field] != folded[keyPath: field] {
            return "\(name) is \(stored[keyPath: field]) and should be \(folded[keyPath: field])"
        }
        return nil
    }

    private func rootDifference() -> String {
        if stored.categories != folded.categories { return "the counts by category differ" }
        if stored.tail != folded.tail {
            let pairs = zip(stored.tail.entries, folded.tail.entries)
            if let pair = pairs.first(where: { $0 != $1 }) { return "item \(pair.1.seq) differs" }
            return "the newest items differ"
        }
        if stored.mutes != folded.mutes { return "what is muted differs" }
        if stored.topics != folded.topics { return "the subscriptions differ" }
        if stored.rangeMarks != folded.rangeMarks { return "the marks on older items differ" }
        if stored.keys.recent != folded.keys.recent { return "the newest idempotency keys differ" }
        return "the state differs"
    }

    private func pageDifference() throws -> String? {
        for page in folded.pages {
            let other = try stored.pages.first { $0.first == page.first } ?? pages.items(at: page.first)
            guard other != page else { continue }
            let item = other.flatMap { zip($0.entries, page.entries).first { $0 != $1 }?.1.seq }
            return "item \(item ?? page.first) differs"
        }
        for page in folded.events.sealed {
            let other =
                try stored.events.sealed.first { $0.first == page.first }
                ?? pages.events(from: page.first)
            if other?.first != page.first || other?.packed != page.packed {
                return "the index of the user's events differs from event \(page.first) on"
            }
        }
        for (space, index) in TrayState.keyIndexes {
            for page in folded[keyPath: index].pages {
                let mine = stored[keyPath: index].pages.first { $0.first == page.first }
                if try mine ?? pages.keys(space, at: page.first) != page { return "the index of \(space) differs" }
            }
        }
        return nil
    }
}

/// States and pages that were kept for looking back, held against those that the log gives.
struct LandmarkComparison {
    let source: FileSource
    let stream: StreamID

    /// The first difference in words; nil when there is none, or when the landmark was not kept.
    ///
    /// - Parameter earlier: the landmark before; what was kept then was compared then.
    func difference(_ reached: TrayState, since earlier: UInt64) throws -> String? {
        do {
            return try source.read { store in
                let found = try store.pages(of: stream, asOf: 0).landmark(atOrBefore: reached.appliedSeq)
                guard let landmark = found, landmark.state.appliedSeq == reached.appliedSeq else { return nil }
                var (mine, theirs): ([UInt8], [UInt8]) = ([], [])
                landmark.state.pack(into: &mine)
                reached.pack(into: &theirs)
                guard mine == theirs else { return "the state that was kept differs" }
                return try pageDifference(reached, landmark.pages, since: earlier)
            }
        } catch PackedError.damaged(let what) {
            return "what was kept is damaged (\(what))"
        }
    }

    private func pageDifference(
        _ reached: TrayState, _ kept: StoredPages, since earlier: UInt64
    ) throws -> String? {
        for page in reached.pages where page.changedBy > earlier {
            if try kept.items(at: page.first) != page { return "the items from \(page.first) on differ" }
        }
        // Keys answer for commands only, which are decided at the head.
        for (space, index) in TrayState.keyIndexes where space != .keys {
            for page in reached[keyPath: index].pages where page.changedBy > earlier {
                if try kept.keys(space, at: page.first) != page { return "the index of \(space) differs" }
            }
        }
        return nil
    }
}
