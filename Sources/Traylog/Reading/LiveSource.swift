import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// Answers in the writing process: from the states at hand, which are never behind the last commit.
///
/// A class, because each query takes a copy.
final class LiveSource: ViewSource {
    let directory: String
    let environment: Environment
    let tables: Tables
    let shared: Monitor<Shared>
    private let hasher: IdentityHasher

    init(
        directory: String, environment: Environment, tables: Tables, shared: Monitor<Shared>, hasher: IdentityHasher
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.shared = shared
        self.hasher = hasher
    }

    func view(of user: String, at moment: UInt64?) throws -> UserView {
        let (view, landmarks) = try withCore { core in
            var landmarks: [TrayState] = []
            var state = TrayState()
            var stream: UInt32 = 0
            if let slot = try core.slot(of: user) {
                let box = try core.current(slot)
                (state, stream) = (box.state, slot.stream)
                if moment != nil { landmarks = box.landmarks }
            }
            let view = UserView(
                user: user, head: Seq(core.head.seq), state: state, hasher: core.hasher,
                pages: core.pages(of: stream, limit: state.appliedSeq))
            return (view, landmarks)
        }
        guard let moment else { return view }
        // Outside of the lock: events up to the head do not change any more.
        return try view.past(
            moment, history: LiveHistory(source: self, hasher: view.hasher, stored: view.pages, landmarks: landmarks))
    }

    /// Most people look at a tray that did not change: one look under the lock.
    func answeredTray(of user: String) throws -> Tray? {
        let identity = hasher.identity(of: user, as: .user)
        return try withCore { core in
            guard core.file == nil || core.file == environment.fileIdentity else { return nil }
            return core.answers.tray(
                of: user, identity: identity, asOf: core.head.seq, lastTopicEvent: core.lastTopicEvent)
        }
    }

    func tray(of user: String) throws -> Tray {
        let view = try view(of: user, at: nil)
        let tray = try view.tray()
        try withCore { core in
            guard let slot = try core.slot(of: user), let box = slot.current else { return }
            if box.state.appliedSeq == view.state.appliedSeq, !core.isBehind(box, through: core.head.seq) {
                core.keep(tray, of: slot)
            }
        }
        return tray
    }

    func stream(of user: String) throws -> UInt32? { try withCore { try $0.slot(of: user)?.stream } }

    func head() throws -> Seq {
        try withCore { Seq($0.head.seq) }
    }

    func unnamedUsers(after name: String?) throws -> [String] {
        try withCore { core in core.unnamedUsers() }
            .filter { user in name.map { $0.precedesInBytes(user) } ?? true }
            .sorted { $0.precedesInBytes($1) }
    }

    func basis() throws -> StoreBasis {
        let (basis, file) = try withCore { core in
            (
                StoreBasis(generation: core.generation, floor: core.record.floor, erased: core.record.erased),
                core.file
            )
        }
        guard let file, file != environment.fileIdentity else { return basis }
        // A moment after the file was replaced, its floor is not known here yet.
        _ = Monitor(()).wait(timeoutMilliseconds: 1, until: { _ in false }, { _ in })
        throw StaleRead()
    }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try withCore { core in
            if let topic = try core.slot(ofTopic: topic) { _ = try core.current(topic) }
            return try core.events(ofTopic: topic, after: seq, through: end)
        }
    }

    func progress() throws -> StoreProgress {
        try withCore { core in
            StoreProgress(
                generation: core.generation, unflushed: core.head.seq - core.flushedThrough,
                streams: core.committedStreams, topics: core.committedTopics, erased: core.record.erased,
                refolded: core.refolded)
        }
    }

    private func withCore<Answer: Sendable>(_ body: (inout Core) throws -> Answer) throws -> Answer {
        // After a fork nobody may be left to give the lock back.
        try environment.checkProcess("read")
        return try shared.withLock { shared in
            guard !shared.isClosed else { throw TraylogError.closed(directory) }
            return try body(&shared.core)
        }
    }
}

/// The past as the writing process has it, for a reader that does not hold the lock.
private struct LiveHistory: FoldHistory {
    let source: LiveSource
    let hasher: IdentityHasher
    let stored: StoredPages
    /// Of the user, not stored yet, ascending.
    let landmarks: [TrayState]

    func fact(_ seq: UInt64) throws -> Fact { try source.fact(seq, hasher) }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try source.events(ofTopic: topic, after: seq, through: end)
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
