import TraylogDomain
import TraylogLog
import TraylogStates

/// One user's past from the first event of the log on, taken from the log and its archives together.
///
/// It fits into memory, as the history of one user does. For one thread.
package final class WholePast: HistoryInMemory {
    package typealias Pages = NoStoredPages

    /// Events below the floor that can concern the user, as the log or an archive has them.
    package private(set) var rows: [UInt64: LogRow] = [:]
    private let stream: StreamID
    private let hasher: IdentityHasher
    private let floorSeq: UInt64
    private var facts: [UInt64: Fact] = [:]
    private var own: [UInt64] = []
    /// Events of each topic that the user was ever subscribed to, ascending.
    package private(set) var topics: [Identity: [UInt64]] = [:]
    private var topicStreams: [StreamID: Identity] = [:]
    private var topicSeqs: Set<UInt64> = []
    package private(set) var landmarks: [TrayState] = []
    /// The next event that must come.
    private var next: UInt64 = 1
    /// Reads events of the log from the floor on; nil outside of ``reading(_:_:)``.
    private var store: StoreSnapshot?

    private static let landmarkDistance = 2_048

    /// - Parameter stream: the user's; 0 for somebody without events.
    package init(of stream: StreamID, _ record: StoreRecord) {
        self.stream = stream
        hasher = record.hasher
        floorSeq = record.floor.seq.rawValue
    }

    /// Takes the next event of the log.
    ///
    /// - Throws: ``StoreFailure`` `notFound` when events before it are neither in the log nor in the archives.
    package func take(_ row: LogRow) throws {
        guard row.seq == next else { throw StoreFailure.notArchived(next) }
        next += 1
        let header = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq)
        let isOwn = header.stream == stream
        let namesTopic = header.kind == .broadcast || header.kind == .arrived
        guard isOwn || namesTopic && !topics.isEmpty || topicStreams[header.stream] != nil else { return }
        let event = try row.event()
        switch event.body {
        case .broadcast(let topic, _), .arrived(_, let topic?, _, _, _):
            let identity = hasher.identity(of: topic, as: .topic)
            guard topics[identity] != nil else { return }
            topicStreams[header.stream] = identity
        default: break
        }
        let fact = Fact(event, hasher: hasher)
        if isOwn {
            own.append(row.seq)
            if fact.kind == .subscribed, topics[fact.topic] == nil { topics[fact.topic] = [] }
        } else if let topic = topicStreams[header.stream] {
            topics[topic, default: []].append(row.seq)
            topicSeqs.insert(row.seq)
        }
        facts[row.seq] = fact
        if row.seq <= floorSeq { rows[row.seq] = row }
    }

    /// Says that no more events come.
    ///
    /// - Parameter end: the last one that was asked for.
    /// - Throws: ``StoreFailure`` `notFound` when events before it are neither in the log nor in the archives.
    package func finish(through end: UInt64) throws {
        guard next > end else { throw StoreFailure.notArchived(next) }
    }

    /// Lends a snapshot of the store, for the events from the floor on, as long as `body` lasts.
    package func reading<R>(_ store: StoreSnapshot, _ body: () throws -> R) rethrows -> R {
        self.store = store
        defer { self.store = nil }
        return try body()
    }

    /// Folds the events, and calls `body` with the state after each that touched the tray.
    ///
    /// - Returns: the state after the last event.
    /// - Complexity: O(events). An `undone` folds again from a landmark.
    package func run(
        through end: UInt64, _ body: (borrowing TrayState, UInt64) throws -> Void
    ) throws -> TrayState {
        // Every state is a landmark, so that the fold reports each.
        var state = TrayState(landmarkDistance: 1)
        var failure: (any Error)?
        var (index, count) = (0, 0)
        try state.catchUp(
            own: own.first ?? 0, through: end, stored: NoStoredPages(), history: self,
            next: { [own] _ in
                index += 1
                return index < own.count ? own[index] : 0
            },
            landmark: { state in
                guard failure == nil else { return }
                do {
                    let seq = state.appliedSeq
                    count += 1
                    if count.isMultiple(of: Self.landmarkDistance) { landmarks.append(copy state) }
                    let fact = topicSeqs.contains(seq) ? facts[seq] : nil
                    if try state.isReached(by: fact, seq, stored: NoStoredPages()) { try body(state, seq) }
                } catch {
                    failure = error
                }
            })
        if let failure { throw failure }
        return state
    }
}

extension WholePast {
    /// The events through `end` that changed an item, ascending.
    package func events(of item: ItemEntry, through end: UInt64) throws -> [UInt64] {
        var tracker = ChangeTracker([(item, nil)], pages: NoStoredPages())
        _ = try run(through: end) { state, seq in try tracker.follow(state, fact(seq)) }
        return tracker.events(of: Seq(item.seq)).map(\.rawValue)
    }

    package func fact(_ seq: UInt64) throws -> Fact {
        guard let fact = facts[seq] else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
        return fact
    }

    package func event(_ seq: UInt64) throws -> Event {
        if let row = rows[seq] { return try row.event() }
        guard let store else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
        return try store.event(Seq(seq))
    }
}

extension TrayState {
    /// Whether the newest event is the user's own, or changed the user's items.
    ///
    /// - Parameter fact: of the event, if a topic has it; nil for the user's own.
    func isReached(by fact: Fact?, _ seq: UInt64, stored: some StatePages) throws -> Bool {
        guard let fact else { return true }
        guard fact.kind != .broadcast else { return tail.entries.last?.seq == seq }
        return try entry(of: fact.target, stored: stored) != nil
    }
}

extension StoreFailure {
    fileprivate static func notArchived(_ seq: UInt64) -> StoreFailure {
        StoreFailure(
            code: .notFound,
            message:
                "event \(seq) is neither in the store nor in its archives; give the directory with all archives, or leave "
                + "them out and ask from the floor on")
    }
}
