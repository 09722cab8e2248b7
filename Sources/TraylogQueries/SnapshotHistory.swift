import TraylogDomain
import TraylogLog
import TraylogStates

/// The past of a user as a snapshot has it, and what memory adds to it.
package struct SnapshotHistory: FoldHistory {
    let store: StoreSnapshot
    /// Of the user.
    let pages: StoredPages
    let unstored: UnstoredPast

    package func fact(_ seq: UInt64) throws -> Fact { try store.fact(seq) }

    package func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try events(ofTopic: topic, after: seq, through: end, limit: .max)
    }

    /// The first of them, at most `limit`.
    package func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64, limit: Int) throws -> [UInt64]
    {
        let stored = try store.topic(topic)
        var seqs: [UInt64] = []
        var known = seq
        if let stored, let root = stored.root {
            guard root.name.isTopic else { throw PackedError.damaged("the state of a topic") }
            seqs = try root.state.events(
                from: seq + 1, through: end, limit: limit,
                stored: pages.viewing(.asOf(root.state.appliedSeq), stream: stored.stream))
            known = max(seq, root.state.appliedSeq)
        }
        guard seqs.count < limit else { return seqs }
        let new = unstored.topics.seqs(of: topic, stream: stored?.stream).filter { $0 > known && $0 <= end }
        return seqs + new.prefix(limit - seqs.count)
    }

    package func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        if let found = unstored.landmarks.last(where: { $0.appliedSeq <= seq }) {
            return Landmark(state: found, pages: pages.viewing(.asOf(found.appliedSeq)))
        }
        return try pages.landmark(atOrBefore: seq)
    }

    package func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        try pages.firsts(of: space, changedSince: seq)
    }
}

/// A user's past in memory, which is not stored yet.
package struct UnstoredPast: Sendable {
    /// Of the user, not stored yet, ascending.
    package var landmarks: [TrayState]
    package var topics: any UnstoredTopicEvents

    package init(landmarks: [TrayState] = [], topics: any UnstoredTopicEvents = UnstoredTopics()) {
        self.landmarks = landmarks
        self.topics = topics
    }
}

/// Events of topics that the stored states may not hold yet.
package protocol UnstoredTopicEvents: Sendable {
    /// Those of one topic through the head of a snapshot, ascending; there may be some that are stored among them.
    ///
    /// - Parameter stream: the topic's, where its name is stored.
    func seqs(of topic: Identity, stream: StreamID?) -> [UInt64]
}

/// The same by topic.
package struct UnstoredTopics: UnstoredTopicEvents {
    package var seqs: [Identity: [UInt64]] = [:]

    package init() {}

    package func seqs(of topic: Identity, stream: StreamID?) -> [UInt64] { seqs[topic] ?? [] }
}
