import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogStates
@_spi(Replication) import TraylogReplica

/// The events that name the topics of a state, which it knows by identity only.
///
/// A compaction keeps them, so that a snapshot can always say the names.
package struct NamingEvents {
    package private(set) var topics: [TraySnapshot.TopicSpan] = []
    /// The events, in descending order.
    package private(set) var seqs: [UInt64] = []

    /// With the event that ended the subscription, once that was met.
    private var wantedTopics: [Identity: Seq?]

    private static let eventsAtOnce = 1_000

    /// - Throws: ``PackedError`` `damaged` when an event is not there that should be; what reading throws.
    /// - Complexity: O(own events since the oldest one that is looked for). Nothing where there is no topic.
    package init(
        of state: TrayState, stored: some StatePages, hasher: IdentityHasher, log: EventLog, rows: any RowReader
    ) throws {
        wantedTopics = Dictionary(uniqueKeysWithValues: state.topics.map { ($0.topic, nil) })
        guard !isComplete else { return }
        var rest = try state.events(from: 1, stored: stored)[...]
        while !isComplete, !rest.isEmpty {
            let chunk = rest.suffix(Self.eventsAtOnce)
            rest.removeLast(chunk.count)
            try rows.read { transaction in
                for seq in chunk.reversed() where !isComplete {
                    let event: Event?? = try log.record(seq, in: transaction) { record in
                        let kind = try RecordHeader.read(record, seq: seq).kind
                        guard kind.map(Self.isNaming) ?? false else { return nil }
                        return try log.event(seq, record, in: transaction)
                    }
                    if case .some(.some(let event)) = event { note(event, hasher) }
                }
            }
        }
        guard isComplete else { throw PackedError.damaged("a state has a topic that no event names") }
        topics.sort { $0.topic.precedesInBytes($1.topic) }
    }

    private var isComplete: Bool { wantedTopics.isEmpty }

    private static func isNaming(_ kind: EventKind) -> Bool {
        kind == .subscribed || kind == .unsubscribed
    }

    private mutating func note(_ event: Event, _ hasher: IdentityHasher) {
        switch event.body {
        case .unsubscribed(let topic, _):
            let identity = hasher.identity(of: topic, as: .topic)
            guard case .some(.none) = wantedTopics[identity] else { return }
            wantedTopics[identity] = .some(event.seq)
        case .subscribed(let topic, _):
            guard let until = wantedTopics.removeValue(forKey: hasher.identity(of: topic, as: .topic)) else { return }
            topics.append(TraySnapshot.TopicSpan(topic: topic, from: event.seq, until: until))
        default:
            return
        }
        seqs.append(event.seq.rawValue)
    }
}
