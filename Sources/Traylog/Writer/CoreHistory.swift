import TraylogDomain

/// The past as the writing process has it: the tail and the states at hand, and the file. Used with the lock held.
struct CoreHistory: FoldHistory {
    let core: Core
    let stored: StoredPages
    /// Of the user, not stored yet, ascending.
    let landmarks: [TrayState]

    func fact(_ seq: UInt64) throws -> Fact { try core.fact(seq) }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try core.events(ofTopic: topic, after: seq, through: end)
    }

    func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        if let found = landmarks.last(where: { $0.appliedSeq <= seq }) {
            // A flush may write over its pages at any time, and keeps them then: as they are now is not as they were.
            return Landmark(state: found, pages: stored.viewing(.past(found.appliedSeq)))
        }
        return try stored.landmark(atOrBefore: seq)
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        try stored.firsts(of: space, changedSince: seq)
    }
}

extension Core {
    /// The seqs of a topic's events after one seq through another, those of the transaction in the making included.
    func events(ofTopic identity: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard lastTopicEvent > seq, end > seq else { return [] }
        let stream: UInt32
        let state: TrayState
        var next: UInt64 = 0
        if let slot = loadedTopic(identity) {
            let box = try slot.current ?? load(slot)
            (stream, state, next) = (slot.stream, box.state, box.next)
        } else {
            guard let stored = try snapshot().topic(identity), let root = stored.root else { return [] }
            (stream, state) = (stored.stream, root.state)
        }
        var seqs = try state.events(
            from: seq + 1, through: end, stored: pages(of: stream))
        while next != 0, next <= end {
            // A slice that is not published yet may have brought the stored state some of them.
            if next > max(seq, state.appliedSeq) { seqs.append(next) }
            next = tail.next(after: next)
        }
        return seqs
    }
}
