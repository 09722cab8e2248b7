import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Events that no command asks for: an operator does.
extension WriterLoop {
    /// Appends that a hold on a user began or ended.
    package mutating func appendHold(
        _ isHeld: Bool, of user: String, actor: String?, device: String?
    ) throws -> Seq {
        let directory = directory
        let seq = try append(of: user, actor: actor, device: device) { stream, _, store in
            if isHeld, let stream, stream.number == store.erasing { throw Self.comesTooLate(directory) }
            return isHeld ? .held : .released
        }
        guard let seq else { preconditionFailure("A hold is appended whatever the stream is.") }
        return seq
    }

    private static func comesTooLate(_ directory: String) -> StoreFailure {
        StoreFailure(
            code: .busy,
            message:
                "\(directory): this user is being erased, so a hold would come too late: wait for the end of the erasure, and hold "
                + "the user if it fails")
    }

    /// Appends that somebody reads a user's whole history.
    ///
    /// - Parameter topics: the names of the user's topics, as far as the caller knows.
    /// - Returns: nil when the user has another topic by now, whose name is to be looked up first.
    package mutating func appendAudited(
        of user: String, topics: [String], actor: String?, device: String?, purpose: String?
    ) throws -> Seq? {
        try append(of: user, actor: actor, device: device) { stream, transaction, store in
            // Whoever was there a moment ago was erased.
            guard let stream else { throw Refusal.invalid(field: "user", reason: "was erased") }
            let state = try transaction.state(of: stream, store: &store).state
            guard let revisions = try store.revisions(of: state.topics, named: topics) else { return nil }
            return .audited(purpose: purpose, topicRevisions: revisions)
        }
    }

    private mutating func append(
        of user: String, actor: String?, device: String?,
        _ body: @Sendable (LiveStream?, inout PendingTransaction, inout LiveStore) throws -> Event.Body?
    ) throws -> Seq? {
        try prepare()
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let seq = try memory.withLock { try $0.append(of: user, actor: actor, device: device, now: now, body) }
        if seq != nil { try commit() }
        return seq
    }
}

extension LiveStore {
    /// The newest revision of each topic, in the order of the names; nil when one has none of these names.
    fileprivate mutating func revisions(of topics: [Subscription], named names: [String]) throws -> [TopicRevision]? {
        let wanted = Set(topics.map(\.topic))
        let hasher = hasher
        let known = names.filter { wanted.contains(hasher.identity(of: $0, as: .topic)) }
        guard known.count == wanted.count else { return nil }
        return try known.map { TopicRevision(topic: $0, revision: try revision(ofTopic: $0)) }
    }
}
