import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates

/// The snapshot of one turn of the store's lock; guarded by that.
final class SectionSnapshot: @unchecked Sendable {
    // @unchecked: whoever uses it holds the store's lock.
    fileprivate var open: StoreSnapshot?
    /// The transaction of ``open``, or one that has ended and can begin again without taking memory.
    fileprivate var held: HeldRead?
}

extension LiveStore {
    /// The snapshot that everything is read through in this turn of the lock.
    func snapshot() throws -> StoreSnapshot {
        if let open = section.open { return open }
        let held = section.held ?? HeldRead(environment)
        try held.begin()
        let snapshot = StoreSnapshot(
            held, tables: tables, record: record, head: head.seq, categoryNames: categoryNames)
        (section.open, section.held) = (snapshot, held)
        return snapshot
    }

    /// The same for a query that goes on after this turn, and ends it; nothing is read in the turn any more.
    func lendSnapshot() throws -> StoreSnapshot {
        defer { (section.open, section.held) = (nil, nil) }
        return try snapshot()
    }

    /// Ends what was read through, at the end of a turn, and before the data file is exchanged for another.
    func endSnapshot() {
        section.open?.end()
        section.open = nil
    }

    /// The stored pages of a stream's state.
    func pages(of stream: StreamID, _ state: CachedState) throws -> StoredPages {
        var pages = try snapshot().pages(of: stream, asOf: state.storedThrough)
        pages.isDamaged = state.isStoredDamaged
        return pages
    }
}

extension LiveStore {
    /// Events of topics that wait in the tail, through the head.
    ///
    /// - Complexity: O(topics in memory) with any broadcast in the tail, else O(1).
    func unstoredTopicEvents() -> UnstoredTopics {
        var found = UnstoredTopics()
        guard tail.lastTopicEvent > record.states.through else { return found }
        for topic in directory.topics {
            var seqs: [UInt64] = []
            var next = tail.first(of: topic.number)
            while next != 0, next <= head.seq {
                seqs.append(next)
                next = tail.next(after: next)
            }
            if !seqs.isEmpty { found.seqs[topic.identity] = seqs }
        }
        return found
    }
}
