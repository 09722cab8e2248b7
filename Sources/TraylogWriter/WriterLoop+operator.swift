import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Events that no command asks for: an operator does.
extension WriterLoop {
    /// Events that may have come since a caller looked whether a user is held, and that one turn of the writer looks through.
    private static let eventsSinceLook: UInt64 = 1_000

    /// Appends that a hold on a user began or ended, unless it had.
    ///
    /// - Parameter known: whether the user was held at a recent head, to which the writer adds what came since.
    /// - Returns: nil when so much came since that the caller has to look again.
    package mutating func setHeld(
        _ isHeld: Bool, _ user: String, knowing known: KnownHold, actor: String?, device: String?
    ) throws -> Receipt? {
        try prepare()
        let wasHeld = try memory.withLock { memory -> Bool? in
            guard memory.store.head.seq <= known.asOf + Self.eventsSinceLook else { return nil }
            return try memory.store.isHeld(user, knowing: known)
        }
        guard let wasHeld else { return nil }
        guard wasHeld != isHeld else {
            try confirmEnd()
            return .unchanged
        }
        let directory = directory
        let seq = try append(of: user, actor: actor, device: device) { stream, _, store in
            if isHeld, let stream, stream.number == store.erasing { throw Self.comesTooLate(directory) }
            return isHeld ? .held : .released
        }
        guard let seq else { preconditionFailure("A hold is appended whatever the stream is.") }
        return .appended(seq)
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
        let now = now
        let seq = try memory.withLock { try $0.append(of: user, actor: actor, device: device, now: now, body) }
        if seq != nil { try commit() }
        return seq
    }
}

/// Whether a user was held at a head.
package struct KnownHold: Sendable {
    let isHeld: Bool
    let asOf: UInt64

    package init(isHeld: Bool, asOf head: Seq) { (self.isHeld, asOf) = (isHeld, head.rawValue) }
}

extension LiveStore {
    /// Whether a user is held now.
    ///
    /// - Complexity: O(events of the log since the head that is known of).
    fileprivate mutating func isHeld(_ user: String, knowing known: KnownHold) throws -> Bool {
        guard let stream = try stream(of: UserName(user, hasher)) else { return false }
        let (log, head, floor) = (tables.log.events, head.seq, record.floor.seq.rawValue)
        var isHeld = known.isHeld
        guard known.asOf < head else { return isHeld }
        try snapshot().read { transaction in
            _ = try log.forEachRecord(from: known.asOf + 1, floor: floor, in: transaction) { seq, record in
                guard seq <= head else { return false }
                let header = try log.checkedHeader(of: seq, record, in: transaction)
                guard header.stream == stream.number else { return true }
                if header.kind == .held || header.kind == .released { isHeld = header.kind == .held }
                return true
            }
        }
        return isHeld
    }

    /// The newest revision of each topic, in the order of the names; nil when one has none of these names.
    fileprivate mutating func revisions(of topics: [Subscription], named names: [String]) throws -> [TopicRevision]? {
        let wanted = Set(topics.map(\.topic))
        let hasher = hasher
        let known = names.filter { wanted.contains(hasher.identity(of: $0, as: .topic)) }
        guard known.count == wanted.count else { return nil }
        return try known.map { TopicRevision(topic: $0, revision: try revision(ofTopic: $0)) }
    }
}
