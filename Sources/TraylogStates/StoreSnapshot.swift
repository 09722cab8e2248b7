import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The store at one moment: one read transaction, the store's record, and the head.
///
/// Every query, check and copy reads through exactly one, which its source lends it (``FileSource``, ``LiveSource``) and
/// ends; using it afterwards is a fault of the program, and traps. Nothing that is read here can be newer than something
/// else that is: a transaction shows one commit, and stays with the data file that it began on when a compaction replaces
/// that.
///
/// **In the process that writes**, states also come from memory, which the store's lock guards. The transaction begins
/// under that lock, in the same turn in which the state is copied or brought up to date:
///
/// - Commits are made outside of the lock and published under it. So the file may hold a batch of states that memory
///   still counts as not stored. A state in memory reads pages as of the root that it was loaded from, or that was
///   stored of it and *published* last: pages that changed since are in the state itself. The batch may have deleted
///   what they were before, so no state stays in memory that is older than the one in a batch.
/// - A state that memory does not have is loaded through the same transaction, root and pages alike. It may come from
///   such a batch; then the chain of the stream's events begins with some that it holds already, and a fold passes over
///   events up to ``TrayState/appliedSeq``. The same holds for the events of topics.
/// - Names are in memory until their batch is published. So a name may be in both places, and never in neither.
/// - A compaction exchanges the data file and what memory says of it in one turn of the lock.
///
/// The transaction is used after the lock was given up, and its holder never takes the lock again: all that a query needs
/// of memory is copied in the one turn. Otherwise it could wait for a thread that holds the lock and waits for
/// transactions to end, as one that enlarges the map does.
package final class StoreSnapshot: RowReader, @unchecked Sendable {
    // @unchecked: constants, and a transaction that one thread at a time uses.
    package let tables: Tables
    package let record: StoreRecord
    /// The newest event.
    package let head: UInt64
    let categoryNames: CategoryNames
    /// Nil after the end: the object may begin another transaction by then, which is not this snapshot's.
    private var transaction: HeldRead?

    /// - Parameter transaction: becomes the snapshot's own; the record and the head are as of then, or of a memory that is
    ///   not older.
    package init(
        _ transaction: HeldRead, tables: Tables, record: StoreRecord, head: UInt64, categoryNames: CategoryNames
    ) {
        self.transaction = transaction
        self.tables = tables
        self.record = record
        self.head = head
        self.categoryNames = categoryNames
    }

    /// The store as its file shows it now.
    ///
    /// - Throws: ``StoreFailure`` `notFound` for an empty file, and `damaged` for one whose parts contradict each other.
    package convenience init(
        _ origin: any ReadOrigin, in directory: String, tables: Tables, categoryNames: CategoryNames
    ) throws {
        let transaction = try origin.hold()
        do {
            let (record, head) = try transaction.read { reading in
                guard let record = try StoreRecord.read(tables, in: reading) else {
                    throw StoreFailure(code: .notFound, message: "\(directory) holds no store yet")
                }
                let head = try tables.log.events.head(in: reading).seq
                try record.check(head: head)
                return (record, head)
            }
            self.init(transaction, tables: tables, record: record, head: head, categoryNames: categoryNames)
        } catch {
            transaction.end()
            throw error
        }
    }

    @inline(__always)
    package func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        guard let transaction else { preconditionFailure("A snapshot was used after its end.") }
        return try transaction.read(body)
    }

    /// Ends the transaction; a second call does nothing.
    package func end() {
        transaction?.end()
        transaction = nil
    }
}

extension StoreSnapshot {
    package var names: NameTable { tables.derived.names }
    package var states: StateTable { tables.derived.states }
    package var dues: DueTable { tables.derived.dues }

    /// The stored pages of a stream as they were after an event.
    ///
    /// - Parameter seq: the newest event of the stored state; 0 where nothing but the log is read.
    package func pages(of stream: StreamID, asOf seq: UInt64) -> StoredPages {
        StoredPages(
            rows: self, tables: tables, floor: record.floor, stream: stream, view: .asOf(seq),
            categoryNames: categoryNames)
    }

    /// The stored state of a stream with its pages.
    package func state(
        of stream: StreamID, named name: StreamName
    ) throws -> (state: TrayState?, pages: StoredPages) {
        let root = try read { try states.root(stream, of: name, in: $0)?.state }
        return (root, pages(of: stream, asOf: root?.appliedSeq ?? 0))
    }

    /// The stored root of a stream, whosever it is; nil when it has none.
    package func root(_ stream: StreamID) throws -> StoredState? { try read { try states.root(stream, in: $0) } }

    package func fact(_ seq: UInt64) throws -> Fact {
        guard let fact = try read({ try tables.log.events.fact(seq, hasher: record.hasher, in: $0) }) else {
            throw Self.missing(seq)
        }
        return fact
    }

    /// The stream of an event that the log holds.
    package func stream(of seq: UInt64) throws -> StreamID {
        let found = try read { transaction in
            try tables.log.events.record(seq, in: transaction) { try RecordHeader.read($0, seq: seq).stream }
        }
        guard let found else { throw Self.missing(seq) }
        return found
    }

    /// An event that a caller names.
    ///
    /// - Throws: ``Refusal`` `unknownEvent` when the log does not hold it.
    package func event(_ seq: Seq) throws -> Event {
        guard let event = try read({ try tables.log.events.event(seq.rawValue, in: $0) }) else {
            throw Refusal.unknownEvent(seq)
        }
        return event
    }

    /// Some events of the log, without those that a compaction took.
    ///
    /// - Returns: at most `limit` events and 1,000, and the seq to go on with; beyond `end` at the end.
    package func events(from first: UInt64, through end: UInt64, limit: Int) throws -> (events: [Event], next: UInt64) {
        var events: [Event] = []
        let wanted = min(limit, 1_000)
        guard first <= end, wanted > 0 else { return ([], end + 1) }
        let next = try read { transaction in
            try tables.log.events.forEachRecord(from: first, floor: record.floor.seq.rawValue, in: transaction) {
                seq, bytes in
                guard seq <= end else { return false }
                events.append(try tables.log.events.event(seq, bytes, in: transaction))
                return events.count < wanted
            }
        }
        guard next > end || events.count == wanted else { throw Self.missing(next) }
        return (events, next)
    }

    /// Whether the log holds an event that it had.
    package func holds(_ seq: UInt64) throws -> Bool {
        try !record.floor.isAbove(seq) || read { try tables.log.events.record(seq, in: $0) { _ in } } != nil
    }

    /// The stream and the stored state of a topic; nil for one of which nothing is stored.
    package func topic(_ identity: Identity) throws -> (stream: StreamID, root: StoredState?)? {
        try read { transaction in
            guard let stream = try names.stream(ofTopic: identity, in: transaction) else { return nil }
            return (stream, try states.root(stream, in: transaction))
        }
    }

    /// The seq that a moment means: the newest event that it sees.
    ///
    /// - Parameter field: the caller's word for the moment, for a refusal.
    /// - Throws: ``Refusal`` `upToBeyondHead`, `compacted`.
    /// - Complexity: O(log n) lookups for a time.
    package func seq(of moment: Moment, _ field: String = "asOf") throws -> UInt64 {
        let floor = record.floor
        switch moment {
        case .seq(let seq):
            guard seq.rawValue <= head else { throw Refusal.upToBeyondHead(seq, head: Seq(head), field: field) }
            guard seq >= floor.seq else { throw floor.refusal }
            return seq.rawValue
        case .time(let time):
            let place = try place(of: time)
            if let damage = place.damage { throw damage }
            return place.last.lowerBound
        }
    }

    /// The same, and the head without a moment.
    package func seq(of moment: Moment?, _ field: String = "asOf") throws -> UInt64 {
        try moment.map { try seq(of: $0, field) } ?? head
    }

    /// Where the last event is that was recorded at or before a time.
    ///
    /// Times never decrease along the log, and from the floor on no event is missing, so readable neighbours decide instead of
    /// a damaged event. Where they cannot, `last` has several events, all but the first of them damaged, and `damage` is the
    /// error of one.
    ///
    /// - Complexity: O(log(events) + damaged events that lie in the way).
    package func place(of time: Timestamp) throws -> (last: ClosedRange<UInt64>, damage: (any Error)?) {
        let floor = record.floor
        var (low, high) = (floor.seq.rawValue, head)
        if low > 0, try recordedAt(low) > time { throw floor.refusal }
        while low < high {
            let middle = low + (high - low + 1) / 2
            var damage: (any Error)?
            guard let found = try readable(from: middle, in: low + 1...high, &damage) else {
                return (low...high, damage)
            }
            if found.time <= time { low = found.seq } else { high = found.seq - 1 }
        }
        return (low...low, nil)
    }

    /// The next event that can be read, from one of a range on to its end, and else the last one before.
    private func readable(
        from middle: UInt64, in range: ClosedRange<UInt64>, _ damage: inout (any Error)?
    ) throws -> (seq: UInt64, time: Timestamp)? {
        for seqs in [AnySequence(middle...range.upperBound), AnySequence((range.lowerBound..<middle).reversed())] {
            for seq in seqs {
                do {
                    return (seq, try recordedAt(seq))
                } catch {
                    guard TraylogError(error, in: "").failure?.code == .damaged else { throw error }
                    damage = damage ?? error
                }
            }
        }
        return nil
    }

    private func recordedAt(_ seq: UInt64) throws -> Timestamp {
        let log = tables.log.events
        let time = try read { transaction in
            try log.record(seq, in: transaction) { try log.checkedHeader(of: seq, $0, in: transaction).recordedAt }
        }
        guard let time else { throw Self.missing(seq) }
        return time
    }

    private static func missing(_ seq: UInt64) -> CodecError {
        CodecError(.damaged, seq: seq, "it is missing from the log")
    }
}
