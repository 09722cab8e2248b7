import TraylogDomain
import TraylogLog
import TraylogStates

/// The newest events of the log: those that the stored states need not hold yet, and those of the transaction in the
/// making.
///
/// It alone knows which events are not stored, whose they are and in which order, and which of them are durable. Each event
/// leads to the next one of the same stream, so that a state catches up without searching.
struct LogTail {
    /// The newest durable event.
    ///
    /// Later ones are of the transaction in the making.
    private(set) var head: EventLog.Head
    /// No event of any topic is newer.
    private(set) var lastTopicEvent: UInt64
    /// Streams with durable events that their stored state does not hold, or with states worth storing.
    private(set) var unstored = StreamSet()
    /// With what the fold needs of each event, or its place in ``others``.
    private var chains: TailChains<CompactFact>
    /// Facts that are not compact, in order.
    private var others = BlockQueue<Fact>(from: 0)
    /// For each event after the head, how to take it back.
    private var pending: ContiguousArray<Pending> = []
    /// Those of topics, durable or not, ascending, each with the newest one before it.
    private var topicEvents = BlockQueue<TopicEvent>(from: 0)

    private struct Pending: BitwiseCopyable {
        let stream: StreamID
        /// The event before it of the same stream; 0 for none.
        let previous: UInt64
    }

    private struct TopicEvent: BitwiseCopyable {
        let seq: UInt64
        let topic: Identity
        let before: UInt64
    }

    /// - Parameter start: the event right before the first one.
    init(after start: UInt64) {
        head = EventLog.Head()
        head.seq = start
        lastTopicEvent = start
        chains = TailChains(after: start)
    }

    // MARK: Looking

    /// Durable events.
    var count: Int { chains.count - pending.count }

    /// The first event.
    var first: UInt64 { chains.start + 1 }

    /// An event of a topic is not durable yet.
    var hasPendingTopicEvents: Bool { topicEvents.last.map { $0.seq > head.seq } ?? false }

    /// The events of topics after `seq` through `end`, ascending; nil when `seq` lies before the tail.
    ///
    /// - Complexity: O(log(events of topics) + those found).
    func topicEvents(after seq: UInt64, through end: UInt64) -> [(seq: UInt64, topic: Identity)]? {
        guard seq >= chains.start else { return nil }
        return topicEvents[topicEvents.bisect { $0.seq <= seq }...].prefix { $0.seq <= end }.map {
            (seq: $0.seq, topic: $0.topic)
        }
    }

    /// Whether the events of topics after `seq` are all here.
    func knowsTopicEvents(after seq: UInt64) -> Bool { seq >= chains.start }

    /// The stream has an event that is not durable yet.
    func hasPending(_ stream: StreamID) -> Bool { !pending.isEmpty && chains.last(of: stream) > head.seq }

    /// The newest event of a stream, also one that is not durable yet; 0 when there is none.
    func last(of stream: StreamID) -> UInt64 { chains.last(of: stream) }

    /// The revision of the newest event of a stream, also of one that is not durable yet; nil when there is none.
    func revision(of stream: StreamID) -> UInt32? { chains.revision(of: stream) }

    /// The oldest event of a stream; 0 when there is none.
    func first(of stream: StreamID) -> UInt64 { chains.first(of: stream) }

    /// The stream's oldest event after `seq`, the newest one of its events that some state holds; 0 when there is none.
    func next(of stream: StreamID, after seq: UInt64) -> UInt64 { chains.next(of: stream, after: seq) }

    /// The next event of the same stream; 0 when there is none.
    func next(after seq: UInt64) -> UInt64 { chains.next(after: seq) }

    /// An event's fact, and the next event of the same stream; 0 when there is none.
    ///
    /// Nil when it must be read from the log.
    func link(at seq: UInt64) -> (fact: Fact, next: UInt64)? {
        guard seq >= first else { return nil }
        let (compact, next) = chains.link(at: seq)
        return fact(of: compact, seq).map { ($0, next) }
    }

    /// Nil when it must be read from the log.
    func fact(_ seq: UInt64) -> Fact? {
        seq >= first ? fact(of: chains[seq], seq) : nil
    }

    private func fact(of compact: CompactFact, _ seq: UInt64) -> Fact? {
        guard !compact.isWhole else { return compact.fact(seq: seq) }
        return compact.isUnread ? nil : others[Int(compact.place)]
    }

    /// Events of one stream that carry keys of one identity.
    struct Carriers {
        var seqs: [UInt64] = []
        /// How many events were looked at.
        var looked = 0
    }

    /// Looks through the chain of one stream from `seq` on, 0 for none; nil when an event has to be read from the log.
    ///
    /// - Complexity: O(the chain).
    func carriers(of key: Identity, from seq: UInt64) -> Carriers? {
        var found = Carriers()
        var next = seq
        while next != 0 {
            let (fact, following) = chains.link(at: next)
            if fact.isUnread { return nil }
            if fact.key == key { found.seqs.append(next) }
            found.looked &+= 1
            next = following
        }
        return found
    }

    /// Visits the keys of all events.
    func forEachKey(_ body: (Identity) -> Void) {
        for fact in chains.values(from: first) where fact.key != .absent { body(fact.key) }
    }

    /// Brings the memory of an event near, which is about to be looked at; 0 for none.
    func prefetch(_ seq: UInt64) { chains.prefetch(seq) }

    /// The same for the end of a stream's chain, to which an event is about to be appended.
    func prefetchEnd(of stream: StreamID) { chains.prefetchEnd(of: stream) }

    /// The same for the newest event of a stream, once the end of its chain is near: the next one is linked to it.
    func prefetchLast(of stream: StreamID) { chains.prefetch(chains.last(of: stream)) }

    /// Streams with so many events here that they are better stored than kept for the end of a flush.
    var long: Set<StreamID> { chains.long }

    /// The stream's durable event that comes so many after `seq`, or the newest one before that; `seq` when there is none.
    ///
    /// - Complexity: O(count).
    func event(_ count: Int, after seq: UInt64, of stream: StreamID) -> UInt64 {
        var last = seq
        var following = chains.next(of: stream, after: seq)
        for _ in 0..<count where following != 0 && following <= head.seq {
            (last, following) = (following, chains.next(after: following))
        }
        return last
    }

    // MARK: Appending

    /// Appends an event to the transaction in the making.
    mutating func append(_ fact: CompactFact, to stream: StreamID, revision: UInt32) {
        pending.append(
            Pending(stream: stream, previous: chains.append(fact, to: stream, revision: revision)))
    }

    /// The same for a fact of any kind.
    ///
    /// - Parameter topic: the topic whose stream it is; nil for a user's.
    mutating func append(_ fact: Fact, to stream: StreamID, revision: UInt32, topic: Identity? = nil) {
        if let topic { noteEvent(of: topic) }
        if let compact = CompactFact(fact) { return append(compact, to: stream, revision: revision) }
        append(CompactFact(place: UInt64(others.endIndex), key: fact.key), to: stream, revision: revision)
        others.append(fact)
    }

    /// The same for an event whose fact must be read from the log.
    mutating func appendUnread(to stream: StreamID, revision: UInt32, topic: Identity? = nil) {
        if let topic { noteEvent(of: topic) }
        append(.unread, to: stream, revision: revision)
    }

    private mutating func noteEvent(of topic: Identity) {
        topicEvents.append(TopicEvent(seq: chains.end + 1, topic: topic, before: lastTopicEvent))
        lastTopicEvent = chains.end + 1
    }

    /// Takes the events of the transaction in the making from `seq` on back.
    mutating func unlink(from seq: UInt64) {
        let kept = Int(seq - head.seq) - 1
        while let last = others.last, last.seq >= seq { others.removeLast() }
        for event in pending[kept...].reversed() { chains.removeLast(of: event.stream, previous: event.previous) }
        pending.removeSubrange(kept...)
        // A broadcast that never was must not count as one that was looked for.
        while let last = topicEvents.last, last.seq >= seq {
            lastTopicEvent = last.before
            topicEvents.removeLast()
        }
    }

    /// Makes the events of the transaction durable ones.
    ///
    /// - Parameter head: the newest of them.
    mutating func publish(_ head: EventLog.Head) {
        for event in pending where event.stream != .absent { unstored.insert(event.stream) }
        pending.removeAll(keepingCapacity: true)
        self.head = head
    }

    /// Visits the streams of the events that are not durable yet, those of the store itself left out.
    func forEachPending(_ body: (StreamID) -> Void) {
        for event in pending where event.stream != .absent { body(event.stream) }
    }

    // MARK: Storing

    /// The state of the stream is worth storing, whether events wait for it or not.
    mutating func store(_ stream: StreamID) { unstored.insert(stream) }

    /// The stored state of the stream holds its events through `seq`.
    ///
    /// - Parameter isNewest: whether none came after that but in the transaction that stored the state. A busy user's come in
    ///   each.
    /// - Returns: the revision of the stream's newest event, if the state holds all.
    @discardableResult
    mutating func flushed(_ stream: StreamID, through seq: UInt64, isNewest: Bool) -> UInt32? {
        let revision = chains.revision(of: stream)
        let isLeft = chains.unchain(stream, through: seq)
        if !isLeft { unstored.remove(stream) }
        if !isLeft || isNewest { chains.noteShort(stream) }
        return isLeft ? nil : revision
    }

    /// Nobody asks for the stream any more.
    mutating func forget(_ stream: StreamID) { flushed(stream, through: .max, isNewest: true) }

    /// Gives up the events through `seq`, which the stored states hold.
    mutating func dropThrough(_ seq: UInt64) {
        guard seq >= first else { return }
        chains.dropThrough(min(seq, head.seq))
        others.drop(before: others.bisect { $0.seq < first })
        topicEvents.drop(before: topicEvents.bisect { $0.seq < first })
    }
}

extension LogTail {
    /// Checks that its parts agree with each other.
    func checkInvariants() {
        chains.checkInvariants()
        precondition(head.seq + UInt64(pending.count) == chains.end, "what is not durable comes after the head")
        precondition(lastTopicEvent <= chains.end, "the newest event of a topic is an event")
        precondition(topicEvents.last.map { $0.seq == lastTopicEvent } ?? true, "and the last one of them all")
        precondition(topicEvents.first.map { $0.seq >= first } ?? true, "which lie in the tail")
        let places = chains.values(from: first).filter(\.isElsewhere).map(\.place)
        precondition(places == places.indices.map { places[0] + UInt64($0) }, "facts that are not compact, in order")
        precondition(places.last.map { $0 + 1 == UInt64(others.endIndex) } ?? true, "and no more of them")
        for event in pending where event.stream != .absent {
            precondition(chains.last(of: event.stream) > head.seq, "an event that is not durable is in its chain")
            precondition(event.previous < chains.last(of: event.stream), "and comes after the one before it")
        }
        chains.forEachStream { stream, first in
            precondition(first > head.seq || unstored.contains(stream), "stream \(stream) waits to be stored")
        }
    }
}
