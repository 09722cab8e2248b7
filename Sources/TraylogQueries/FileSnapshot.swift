import TraylogDomain
import TraylogLog
import TraylogStates

/// A snapshot of a store that another process may be writing, and what the log's tail says up to its head.
package struct FileSnapshot {
    package let store: StoreSnapshot
    let tail: KnownTail

    /// The stream of a user, of a topic, or of somebody who was erased; nil for one that never had an event.
    package func stream(of name: StreamName) throws -> StreamID? {
        switch name {
        case .erased(let stream): stream
        case .user(let user): try find(user)?.stream
        case .topic(let topic):
            try stream(ofTopic: store.record.hasher.identity(of: topic, as: .topic))
        }
    }

    package func stream(ofTopic identity: Identity) throws -> StreamID? {
        if let new = tail.stream(ofTopic: identity, through: store.head) { return new }
        return try store.read { try store.names.stream(ofTopic: identity, in: $0) }
    }

    private func find(_ user: String) throws -> (stream: StreamID, name: StreamName)? {
        if let new = tail.stream(of: user, through: store.head) { return (new, .user(user)) }
        if let stream = try store.read({ try store.names.stream(of: user, in: $0) }) { return (stream, .user(user)) }
        // A pseudonym is in no table: it names the stream itself.
        guard let stream = Pseudonym.stream(of: user), try store.root(stream)?.name == .erased(stream) else {
            return nil
        }
        return (stream, .erased(stream))
    }

    /// A user after the head; with an empty tray for somebody unknown.
    ///
    /// - Parameter isRefolded: whether nothing that is stored of the user's state is used.
    func user(_ user: String, isRefolded: Bool = false) throws -> UserSnapshot {
        guard let (stream, name) = try find(user) else { return UserSnapshot(stranger: user, in: store) }
        if isRefolded { return try UserSnapshot(refolding: user, stream, in: store, through: store.head, unstored) }
        return try self.user(name, stream: stream)
    }

    /// The tray of a user after the head.
    ///
    /// Where only broadcasts are new, they are added as a whole.
    func tray(of user: String, _ stretches: TopicStretches) throws -> Tray {
        guard let (stream, name) = try find(user) else { return Tray(user: user, asOf: Seq(store.head)) }
        let (root, pages) = try store.state(of: stream, named: name)
        if let state = root,
            tail.seqs(of: stream, through: store.head).last ?? 0 <= state.appliedSeq,
            let tray = try stretches.tray(
                of: user, state, pages: pages, through: store.head,
                history: history(of: store.pages(of: .absent, asOf: 0)))
        {
            return tray
        }
        return try self.user(name, stream: stream).tray()
    }

    /// A stream after the head: the stored state, and the tail folded over it.
    ///
    /// - Parameter end: the last event to fold; for somebody who has no later ones.
    package func user(_ name: StreamName, stream: StreamID, through end: UInt64 = .max) throws -> UserSnapshot {
        let (root, pages) = try store.state(of: stream, named: name)
        var state = root ?? TrayState(landmarkDistance: store.record.landmarkDistance)
        let own = tail.seqs(of: stream, through: store.head).drop { $0 <= state.appliedSeq }
        var index = own.startIndex
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.endIndex ? own[index] : 0
        }
        try state.catchUp(
            own: own.first ?? 0, through: max(min(end, store.head), state.appliedSeq), stored: pages,
            history: history(of: pages), next: next)
        return UserSnapshot(
            user: name.text, stream: stream, store: store, asOf: store.head, state: state, pages: pages,
            past: unstored)
    }

    /// A stream after the head by its number, and whether it is a topic's; nil for one that has no events.
    func state(of stream: StreamID) throws -> (user: UserSnapshot, isTopic: Bool)? {
        if let root = try store.root(stream) { return (try user(root.name, stream: stream), root.name.isTopic) }
        guard let first = tail.seqs(of: stream, through: store.head).first else { return nil }
        let name = try store.tables.log.events.streamName(of: first, in: store)
        return (try user(name, stream: stream), name.isTopic)
    }

    /// The past of a stream, with its pages.
    package func history(of pages: StoredPages) -> SnapshotHistory {
        SnapshotHistory(store: store, pages: pages, unstored: unstored)
    }

    /// A stream's events after `seq` through `end`.
    ///
    /// - Complexity: O(events in between, of all streams): states may hold some that neither are in the tail nor were when
    ///   the fold began.
    package func seqs(of stream: StreamID, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        guard end > seq else { return [] }
        var seqs: [UInt64] = []
        try store.tables.log.events.scanTail(after: seq, through: end, in: store, wantsName: { _ in false }) { events in
            for event in events where event.stream == stream { seqs.append(event.seq) }
        }
        return seqs
    }

    private var unstored: UnstoredPast { UnstoredPast(topics: TailTopics(tail: tail, head: store.head)) }
}

/// Events of topics in a known tail.
private struct TailTopics: UnstoredTopicEvents {
    let tail: KnownTail
    let head: UInt64

    func seqs(of topic: Identity, stream: StreamID?) -> [UInt64] {
        guard let stream = tail.stream(ofTopic: topic, through: head) ?? stream else { return [] }
        return tail.seqs(of: stream, through: head)
    }
}
