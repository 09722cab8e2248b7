import TraylogDomain
import TraylogLMDB
import TraylogLog

/// One user's state after a certain event, with what is needed to answer from it.
struct UserView {
    let user: String
    let head: Seq
    var state: TrayState
    let hasher: IdentityHasher
    let pages: StoredPages

    func tray() throws -> Tray {
        try state.tray(of: user, asOf: head, source: pages)
    }

    /// The same user right after `seq`, which is not beyond the head.
    func past<History: FoldHistory>(_ seq: UInt64, history: History) throws -> UserView
    where History.Pages == StoredPages {
        guard seq < state.appliedSeq else {
            return UserView(user: user, head: Seq(seq), state: state, hasher: hasher, pages: pages)
        }
        let voidings = try state.voidings(stored: pages).filter { $0.undone <= seq }
        let past = try TrayState.state(at: seq, of: state, without: voidings, stored: pages, history: history)
        return UserView(
            user: user, head: Seq(seq), state: past.state, hasher: hasher, pages: past.pages ?? pages.viewing(.past(0)))
    }
}

extension UserView {
    /// The user's own events, without those that a compaction took.
    ///
    /// - Complexity: O(events returned), and those that are only in the index.
    func events(from first: UInt64, through end: UInt64, limit: Int) throws -> [Event] {
        var events: [Event] = []
        var next = first
        while events.count < limit {
            let wanted = min(limit - events.count, 1_000)
            let seqs = try state.events(from: next, through: end, limit: wanted, stored: pages)
            for seq in seqs where try !pages.floor.isAbove(seq) || pages.holds(seq) {
                events.append(try pages.event(seq))
            }
            guard seqs.count == wanted, let last = seqs.last else { break }
            next = last + 1
        }
        return events
    }
}

/// Where the answers of a store come from: the writing process's memory, or the file alone.
protocol ViewSource: Sendable {
    var directory: String { get }
    var environment: Environment { get }
    var tables: Tables { get }

    /// The user's state right after an event, or after the head; that of an empty tray for somebody unknown.
    func view(of user: String, at seq: UInt64?) throws -> UserView
    /// The user's stream; nil for somebody who never had an event.
    func stream(of user: String) throws -> UInt32?
    /// The user's tray after the head.
    func tray(of user: String) throws -> Tray
    /// The same where it is at hand, in one look, so that nothing can change meanwhile; nil where it is not.
    func answeredTray(of user: String) throws -> Tray?
    /// The head, for queries that concern no user.
    func head() throws -> Seq
    /// Users whose names are not in the table of names yet, those after `name`, sorted in byte order.
    func unnamedUsers(after name: String?) throws -> [String]
    /// What a rebuild or a compaction, also of another process, replaces.
    func basis() throws -> StoreBasis
    /// Seqs of a topic's events after one seq through another, ascending.
    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64]
    /// How far the store is.
    func progress() throws -> StoreProgress
}

/// What all answers of one query must be taken from.
struct StoreBasis: Hashable, Sendable {
    /// The copy of names and states in use.
    var generation: Generation
    var floor: Floor
    /// How many users were erased.
    var erased: UInt64
}

/// Counts that only the source of states knows.
struct StoreProgress {
    /// The copy of names and states in use.
    var generation: Generation
    /// Events that the stored states do not hold.
    var unflushed: UInt64
    /// Streams that have events, those of topics included.
    var streams: UInt64
    var topics: UInt64
    /// Streams of users who were erased.
    var erased: UInt64
    /// Damaged states that this process folded anew and stores again.
    var refolded: UInt64 = 0
}

extension ViewSource {
    func tray(of user: String) throws -> Tray {
        try view(of: user, at: nil).tray()
    }

    func answeredTray(of user: String) throws -> Tray? { nil }

    func fact(_ seq: UInt64, _ hasher: IdentityHasher) throws -> Fact {
        guard let fact = try environment.read({ try tables.log.fact(seq, hasher: hasher, in: $0) }) else {
            throw CodecError(.damaged, seq: seq, "it is missing from the log")
        }
        return fact
    }

    /// The seq that a moment means; nil for the head.
    ///
    /// - Throws: ``Refusal`` `upToBeyondHead`, `compacted`.
    /// - Complexity: O(log n) lookups for a time.
    func seq(of moment: Moment?) throws -> UInt64? {
        guard let moment else { return nil }
        let floor = try basis().floor
        switch moment {
        case .seq(let seq):
            let head = try head()
            guard seq <= head else { throw Refusal.upToBeyondHead(seq, head: head) }
            guard seq >= floor.seq else { throw floor.refusal }
            return seq.rawValue
        case .time(let time):
            // The last event that was recorded at or before the time; times never decrease along the log, and from the
            // floor on no event is missing.
            var (low, high) = (floor.seq.rawValue, try head().rawValue)
            if low > 0, try recordedAt(low) > time { throw floor.refusal }
            while low < high {
                let middle = low + (high - low + 1) / 2
                if try recordedAt(middle) <= time { low = middle } else { high = middle - 1 }
            }
            return low
        }
    }

    private func recordedAt(_ seq: UInt64) throws -> Timestamp {
        let time = try environment.read { transaction in
            try tables.log.record(seq, in: transaction) { try RecordHeader.read($0, seq: seq).recordedAt }
        }
        guard let time else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
        return time
    }
}
