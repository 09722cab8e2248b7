import TraylogDomain
import TraylogLog

/// The streams of a log that is being restored, in the order of their first events.
///
/// Takes about 60 bytes for each.
package struct RestoredStreams {
    private struct Stream {
        var identity: Identity
        var isTopic: Bool
        /// How many events it has.
        var revision: UInt32 = 0
    }

    private let hasher: IdentityHasher
    private var streams: [Stream] = []
    private var identities: Set<Identity> = []
    /// The numbers in the restored log by those of the export.
    ///
    /// They are the same as long as no event is missing.
    private var numbers: [StreamID: StreamID] = [:]
    /// Whether events are missing, which may have been the first ones of their streams.
    package private(set) var hasGaps = false
    /// The topics among the streams.
    private var topics: [Identity: StreamID] = [:]

    package init(hasher: IdentityHasher) { self.hasher = hasher }

    /// Notes that an event is missing: from now on numbers may be missing, too.
    package mutating func noteGap() { hasGaps = true }

    /// Checks that no event of the stream is missing before this one, and that it names the newest event of the topic that it
    /// joins or leaves; unless the export says that events are missing.
    ///
    /// - Throws: ``Refusal`` with the revision that should stand there.
    package func checkRevisions(of event: borrowing Event, in stream: StreamID) throws(Refusal) {
        guard !hasGaps else { return }
        if let body = recounted(event.body), body != event.body {
            throw .invalid(field: "topicRevision", reason: "is not that of the topic's newest event")
        }
        let next = stream == .absent ? 0 : UInt64(streams[Int(stream.rawValue) - 1].revision) + 1
        guard event.revision == next else {
            throw .invalid(
                field: "revision",
                reason: "must be \(next), not \(event.revision): stream \(stream) has no gap and no event twice")
        }
    }

    /// A `subscribed` or `unsubscribed` with the revision of the topic's newest event; nil for other events.
    package func recounted(_ body: Event.Body) -> Event.Body? {
        switch body {
        case .subscribed(let topic, _): .subscribed(topic: topic, topicRevision: revision(ofTopic: topic))
        case .unsubscribed(let topic, _): .unsubscribed(topic: topic, topicRevision: revision(ofTopic: topic))
        default: nil
        }
    }

    private func revision(ofTopic name: String) -> UInt64 {
        topics[hasher.identity(of: name, as: .topic)].map { UInt64(streams[Int($0.rawValue) - 1].revision) } ?? 0
    }

    /// Takes the next revision of a stream; 0 for the store itself.
    package mutating func nextRevision(in stream: StreamID) -> UInt32 {
        guard stream != .absent else { return 0 }
        streams[Int(stream.rawValue) - 1].revision += 1
        return streams[Int(stream.rawValue) - 1].revision
    }

    /// Checks the stream of the next event, and adds the stream if it is new.
    ///
    /// - Parameter streamOf: returns the stream of an earlier event.
    /// - Returns: the number of the stream in the restored log; nil for an event whose stream nobody can tell, because the
    ///   broadcast that it changes is missing.
    /// - Throws: ``Refusal`` when the stream does not belong to the event's user or topic.
    package mutating func add(
        _ event: borrowing Event, stream: StreamID, streamOf: (Seq) throws -> StreamID?
    ) throws -> StreamID? {
        switch (event.body, event.user) {
        case (.compacted, nil), (.lost, nil):
            guard stream == .absent else { throw Self.wrong("must be 0, the stream of the store itself") }
            return .absent
        case (.erased, _), (.compacted, .some), (.lost, .some):
            throw Refusal.invalid(field: "kind", reason: "is one that an export does not have")
        case (.broadcast(let topic, _), nil):
            try Limits.check(identifier: topic, "topic")
            return try add(hasher.identity(of: topic, as: .topic), isTopic: true, stream)
        case (.broadcast, .some):
            throw Refusal.invalid(field: "user", reason: "a broadcast has none")
        case (.arrived(_, let topic, _, _, _), _) where (topic == nil) != (event.user != nil):
            throw Refusal.invalid(field: "topic", reason: "stands where a broadcast arrived, and nowhere else")
        case (_, let user?):
            try Limits.check(identifier: user, "user")
            guard Pseudonym.stream(of: user) == nil else {
                throw Refusal.invalid(field: "user", reason: "is a name that only an erasure gives")
            }
            return try add(hasher.identity(of: user, as: .user), isTopic: false, stream)
        case (.edited(let item, _), nil), (.retracted(let item), nil), (.expired(let item), nil),
            (.reminded(let item), nil), (.arrived(let item, _, _, _, _), nil):
            guard let own = numbers[stream] else {
                guard hasGaps else { throw Self.wrong("is not the stream of the broadcast that the event names") }
                return nil
            }
            let ofItem = try streamOf(item)
            guard streams[Int(own.rawValue) - 1].isTopic, ofItem == own || (hasGaps && ofItem == .absent) else {
                throw Self.wrong("is not the stream of the broadcast that the event names")
            }
            return own
        case (_, nil):
            throw Refusal.invalid(field: "user", reason: "is missing")
        }
    }

    private mutating func add(_ identity: Identity, isTopic: Bool, _ given: StreamID) throws(Refusal) -> StreamID {
        if let own = numbers[given] {
            let known = streams[Int(own.rawValue) - 1]
            guard known.identity == identity, known.isTopic == isTopic else {
                throw Self.wrong("belongs to another user or topic")
            }
            return own
        }
        guard given != .absent, hasGaps || Int(given.rawValue) == streams.count + 1 else {
            throw Self.wrong("must be \(streams.count + 1), or the stream of an earlier event")
        }
        guard identities.insert(identity).inserted else {
            throw Self.wrong("is a new one, but this user or topic has one already")
        }
        streams.append(Stream(identity: identity, isTopic: isTopic))
        let own = StreamID(rawValue: UInt32(streams.count))
        numbers[given] = own
        if isTopic { topics[identity] = own }
        return own
    }

    private static func wrong(_ reason: String) -> Refusal { .invalid(field: "stored.stream", reason: reason) }
}

extension Event.Body {
    /// Checks that data is JSON, because answers and exports contain it as it is.
    package func checkData() throws(Refusal) {
        switch self {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content):
            try Limits.check(data: content.data, isJSON: false)
        case .edited(_, let edit):
            if case .set(let data) = edit.data { try Limits.check(data: data, isJSON: false) }
        default: break
        }
    }
}
