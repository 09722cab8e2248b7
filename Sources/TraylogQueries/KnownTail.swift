import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogPlatform
import TraylogStates

/// The log's tail as a process knows it that does not write it: whose its events are, and who is new.
///
/// It only grows, so that a snapshot can keep to one while other threads go on with it or with another: whoever asks
/// names the head to look up to.
final class KnownTail: Sendable {
    /// Events that are looked at in one transaction.
    private static let eventsPerSnapshot: UInt64 = 10_000
    /// The memory goes when so many of the events are stored in states.
    private static let mostStored: UInt64 = 1_000_000

    private struct Events: Sendable {
        var chains: TailChains<Void>
        /// The last one that was looked at.
        var end: UInt64
        /// Streams that are newer than the stored names.
        var new = StreamSet()
        var users: [UserName: StreamID] = [:]
        var topics: [Identity: StreamID] = [:]

        init(_ record: StoreRecord) {
            chains = TailChains(after: record.states.through)
            end = record.states.through
        }
    }

    private let record: StoreRecord
    private let events: Monitor<Events>

    /// The tail of a store as of its record: what its states do not hold.
    init(_ record: StoreRecord) {
        self.record = record
        events = Monitor(Events(record))
    }

    /// Whether it can serve a snapshot with another record.
    func serves(_ other: StoreRecord) -> Bool {
        let stored = record.states.through...record.states.through + Self.mostStored
        // A rebuild may have made a new secret, and may have found fewer streams.
        return record.hasher == other.hasher && record.erased == other.erased
            && record.states.nextStream <= other.states.nextStream
            && stored.contains(other.states.through) && events.withLock { $0.end >= other.states.through }
    }

    /// Whether a snapshot of the other record would be a step back.
    func isNewer(than other: StoreRecord) -> Bool { record.states.through > other.states.through }

    /// Looks at some more events.
    ///
    /// - Returns: whether it holds all of the snapshot's.
    func extend(to store: StoreSnapshot) throws -> Bool {
        try events.withLock { events in
            let end = min(store.head, events.end + Self.eventsPerSnapshot)
            if events.end < end {
                do {
                    try scan(&events, through: end, store)
                } catch let error as LMDBError where error.code == .overtaken {
                    // Some of it may be from pages that are not the snapshot's.
                    events = Events(record)
                    throw error
                }
            }
            return end == store.head || events.end > store.head
        }
    }

    private func scan(_ known: inout Events, through end: UInt64, _ store: StoreSnapshot) throws {
        try store.tables.log.events.scanTail(
            after: known.end, through: end, in: store,
            wantsName: { $0.stream >= record.states.nextStream && !known.new.contains($0.stream) },
            { events in
                for event in events { known.chains.append((), to: event.stream, revision: event.revision) }
                for case let (stream, name?) in events.lazy.map({ ($0.stream, $0.name) }) {
                    known.new.insert(stream)
                    switch name {
                    case .user(let user): known.users[UserName(user, record.hasher)] = stream
                    case .erased: break
                    case .topic(let topic): known.topics[record.hasher.identity(of: topic, as: .topic)] = stream
                    }
                }
                if let last = events.last { known.end = last.seq }
            })
    }

    /// The events of a stream through `head`, ascending.
    func seqs(of stream: StreamID, through head: UInt64) -> [UInt64] {
        let seqs = events.withLock { $0.chains.seqs(of: stream) }
        return seqs.last.map { $0 > head } ?? false ? seqs.filter { $0 <= head } : seqs
    }

    /// The stream of a user whose first event is here.
    func stream(of user: String, through head: UInt64) -> StreamID? {
        events.withLock { events in
            events.users[UserName(user, record.hasher)].flatMap { events.chains.began($0, by: head) ? $0 : nil }
        }
    }

    /// The stream of a topic whose first event is here.
    func stream(ofTopic identity: Identity, through head: UInt64) -> StreamID? {
        events.withLock { events in
            events.topics[identity].flatMap { events.chains.began($0, by: head) ? $0 : nil }
        }
    }

    /// The users whose first events are here.
    func users(through head: UInt64) -> [String] {
        events.withLock { events in
            events.users.filter { events.chains.began($1, by: head) }.map(\.key.text)
        }
    }

    /// How many streams began here that a snapshot's names do not hold, and how many of them are topics'.
    func newStreams(of store: StoreSnapshot) -> (streams: UInt64, topics: UInt64) {
        let (first, head) = (store.record.states.nextStream, store.head)
        return events.withLock { events in
            var (streams, next): (UInt64, StreamID) = (0, first)
            while let stream = events.new.next(from: next) {
                if events.chains.began(stream, by: head) { streams += 1 }
                next = stream.next
            }
            let topics = events.topics.values.count { $0 >= first && events.chains.began($0, by: head) }
            return (streams, UInt64(topics))
        }
    }
}
