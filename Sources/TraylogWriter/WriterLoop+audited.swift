import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

extension WriterLoop {
    /// Appends the event that says that somebody reads a user's whole history.
    ///
    /// - Parameter topics: the names of the user's topics, as far as the caller knows.
    /// - Returns: nil when the user has another topic by now, whose name is to be looked up first.
    package mutating func appendAudited(
        of user: String, topics: [String], actor: String?, device: String?, purpose: String?
    ) throws -> Seq? {
        try prepare()
        let now = Timestamp(milliseconds: SystemClock.nowMilliseconds())
        let command = Command(user: user, .seeTray(), actor: actor, device: device)
        let seq = try memory.withLock { try $0.appendAudited(command, topics: topics, purpose: purpose, now: now) }
        if seq != nil { try commit() }
        return seq
    }
}

extension WriterMemory {
    /// - Parameter command: says who reads whose history, from where.
    fileprivate mutating func appendAudited(
        _ command: Command, topics: [String], purpose: String?, now: Timestamp
    ) throws -> Seq? {
        try begin(events: 1, now: now)
        do {
            let name = UserName(command.user ?? "", store.hasher)
            guard let stream = try store.stream(of: name), !stream.isErased else {
                throw Refusal.invalid(field: "user", reason: "was erased")
            }
            let state = try transaction.state(of: stream, store: &store).state
            guard let revisions = try store.revisions(of: state.topics, named: topics) else {
                rollBack()
                return nil
            }
            return try transaction.append(
                command, .audited(purpose: purpose, topicRevisions: revisions), fingerprint: 0,
                salt: random.nextSalt(), to: stream, store: &store)
        } catch {
            rollBack()
            throw error
        }
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
