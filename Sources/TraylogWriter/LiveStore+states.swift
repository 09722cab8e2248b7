import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogLMDB
import TraylogStates

/// How the states of streams come into memory, and catch up with the log.
extension LiveStore {
    /// The stream's state after the head, in memory; loads it and lets it catch up as needed.
    mutating func current(_ stream: LiveStream) throws -> CachedState {
        try state(of: stream, through: head.seq)
    }

    /// The state as far as it was folded so far: later events wait in the tail.
    ///
    /// Nil when the stored one is damaged.
    mutating func folded(_ stream: LiveStream) throws -> CachedState? {
        if let state = stream.states.committed { return state }
        do {
            let state = try load(stream)
            states.set(state, of: stream)
            return state
        } catch PackedError.damaged {
            return nil
        }
    }

    /// The same as ``current(_:)``, only as far as the stream's own events reach: later broadcasts wait until somebody looks.
    ///
    /// - Parameter count: folds in no more events than these.
    mutating func storable(_ stream: LiveStream, events count: Int = .max) throws -> CachedState {
        let end = min(tail.last(of: stream.number), head.seq)
        guard count < .max, let folded = try folded(stream) else { return try state(of: stream, through: end) }
        let bound = tail.event(count, after: folded.state.events.last, of: stream.number)
        return try state(of: stream, through: min(bound, end))
    }

    private mutating func state(of stream: LiveStream, through seq: UInt64) throws -> CachedState {
        let state: CachedState
        do {
            state = try stream.states.committed ?? load(stream)
        } catch PackedError.damaged {
            return try refold(stream)
        }
        if isBehind(state, of: stream, through: seq) {
            do {
                try loadTopics(of: state, through: seq)
                try catchUp(state, of: stream, through: seq)
            } catch {
                // A half-folded state is of no use; the stored one and the tail make a new one.
                states.set(nil, of: stream)
                if case PackedError.damaged = error { return try refold(stream) }
                throw error
            }
            // What was reached with much folding is stored, so that nobody has to do it again.
            if !state.landmarks.isEmpty { storeSoon(stream) }
        } else if stream.states.committed === state {
            return state
        }
        states.set(state, of: stream)
        return state
    }

    /// The state's oldest own event that it does not hold; 0 when it holds all.
    func next(for state: CachedState, of stream: LiveStream) -> UInt64 {
        tail.next(of: stream.number, after: state.state.events.last)
    }

    /// Whether events are missing in the state: the user's own, or of topics.
    func isBehind(_ state: CachedState, of stream: LiveStream, through seq: UInt64) -> Bool {
        let next = next(for: state, of: stream)
        if next != 0, next <= seq { return true }
        guard !state.state.topics.isEmpty, seq > state.topicsThrough, seq > state.state.appliedSeq else { return false }
        return tail.lastTopicEvent > state.topicsThrough && tail.lastTopicEvent > state.state.appliedSeq
    }

    /// Brings the states of topics into memory that a fold is about to ask for.
    private mutating func loadTopics(of state: CachedState, through seq: UInt64) throws {
        let bound = min(tail.lastTopicEvent, seq)
        guard bound > state.state.appliedSeq, !tail.knowsTopicEvents(after: state.looked) else { return }
        for subscription in state.state.topics {
            guard let topic = try stream(ofTopic: subscription.topic) else { continue }
            _ = try current(topic)
        }
    }

    /// The stored state, with all that waits in the tail still to be applied.
    func load(_ stream: LiveStream) throws -> CachedState {
        let states = tables.derived.states
        if stream.mayBeStored {
            let stored = try snapshot().read {
                try states.root(stream.number, of: stream.name, isNew: !stream.isNamed, in: $0)
            }
            if let stored { return CachedState(state: stored.state, storedThrough: stored.state.appliedSeq) }
        }
        return CachedState(state: TrayState(landmarkDistance: landmarkDistance))
    }

    /// Folds the stream's events in the tail through `seq` in, and those of its user's topics.
    func catchUp(_ state: CachedState, of stream: LiveStream, through seq: UInt64) throws {
        let source = try pages(of: stream.number, state)
        var next = next(for: state, of: stream)
        // Nearly all events of nearly all users need nothing but the state.
        let topicsThrough = min(tail.lastTopicEvent, seq)
        while next != 0, next <= seq, state.state.topics.isEmpty || topicsThrough <= state.state.appliedSeq {
            let (fact, following) = try tail.link(at: next) ?? (snapshot().fact(next), tail.next(after: next))
            tail.prefetch(following)
            let isQuiet = fact.kind == .subscribed && topicsThrough <= next
            guard !fact.kind.needsHistory || isQuiet || stream.isTopic else { break }
            try state.state.apply(fact, stored: source)
            // By its field: asked as a whole, the state would be copied for each event.
            if state.state.lastLandmark == next, !stream.isTopic { state.keep(state.state) }
            next = following
        }
        guard isBehind(state, of: stream, through: seq) else { return }
        let history = LiveStoreHistory(
            store: self, stream: stream.number, stored: source, landmarks: state.landmarks,
            looked: (state.state.appliedSeq, state.looked))
        try state.state.catchUp(
            own: next, through: seq, stored: source, history: history, next: { tail.next(after: $0) },
            landmark: { state.keep($0) })
        state.topicsThrough = min(seq, tail.lastTopicEvent)
    }

    /// The seqs of a topic's events after one seq through another, those of the transaction in the making included.
    func events(ofTopic identity: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard tail.lastTopicEvent > seq, end > seq else { return [] }
        let state: TrayState
        let stored: StoredPages
        if let stream = directory[topic: identity] {
            // Somebody may follow many topics, of which few have news.
            if let folded = stream.states.committed, max(folded.state.events.last, tail.last(of: stream.number)) <= seq
            {
                return []
            }
            let cached = try stream.states.committed ?? load(stream)
            (state, stored) = (cached.state, try pages(of: stream.number, cached))
        } else {
            guard let (number, root) = try snapshot().topic(identity), let root else { return [] }
            (state, stored) = (root.state, try snapshot().pages(of: number, asOf: root.state.appliedSeq))
        }
        var seqs = try state.events(from: seq + 1, through: end, stored: stored)
        var next = tail.next(of: stored.stream, after: state.events.last)
        while next != 0, next <= end {
            if next > seq { seqs.append(next) }
            next = tail.next(after: next)
        }
        return seqs
    }
}

/// The past as the writing process has it: the tail and the states in memory, and the file.
///
/// Used with the lock held.
private struct LiveStoreHistory: FoldHistory {
    let store: LiveStore
    let stream: StreamID
    let stored: StoredPages
    /// Of the user, not stored yet, ascending.
    let landmarks: [TrayState]
    /// The event that the state begins with, and how far its topics were looked through then.
    let looked: (from: UInt64, through: UInt64)

    func fact(_ seq: UInt64) throws -> Fact { try store.fact(seq) }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try store.events(ofTopic: topic, after: seq, through: end)
    }

    /// Somebody may follow many topics, of which few have news.
    func topicEvents(after seq: UInt64, through end: UInt64) -> [(seq: UInt64, topic: Identity)]? {
        store.tail.topicEvents(after: seq == looked.from ? looked.through : seq, through: end)
    }

    func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        if let found = landmarks.last(where: { $0.appliedSeq <= seq }) {
            return Landmark(state: found, pages: stored.viewing(.asOf(found.appliedSeq)))
        }
        return try stored.landmark(atOrBefore: seq)
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        try store.changedPages(of: space, since: seq, in: stream) ?? stored.firsts(of: space, changedSince: seq)
    }

    func refolded(without voided: Set<UInt64>) -> Landmark<StoredPages>? {
        let undo = store.undos.first {
            $0.stream == stream && $0.floor == store.record.floor.seq.rawValue && $0.voided == voided
        }
        return undo.map { Landmark(state: $0.state, pages: stored.viewing($0.pages)) }
    }
}
