import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

@_spi(Operations) extension BlockingQueries {
    /// The event that put a user on hold; nil for somebody who is not held.
    ///
    /// - Throws: ``TraylogError``: refused `invalid`; failed.
    /// - Complexity: O(the user's events).
    @available(*, noasync, message: "use `await store.upkeep.hold(of:)`; this call blocks a thread that tasks share")
    public func hold(of user: String) throws(TraylogError) -> Event? {
        let filter = EventFilter(user: user, kinds: [.held, .released])
        let newest = try events(matching: filter, newestFirst: true, limit: 1).elements.first
        return newest?.kind == .held ? newest : nil
    }

    /// All who are on legal hold at the head of the log.
    ///
    /// - Parameter known: who was held at an earlier event.
    /// - Complexity: O(events since then): some millions a second, because only their headers are read.
    @available(*, noasync, message: "use `await store.upkeep.legalHolds`; this call blocks a thread that tasks share")
    public func legalHolds(since known: LegalHolds = LegalHolds()) throws(TraylogError) -> LegalHolds {
        var (seqs, next, head) = ([UInt64](), known.through.rawValue + 1, known.through.rawValue)
        repeat {
            let from = next
            (next, head) = try queries.answer { store in
                try Cancellation.checkCurrent()
                guard from <= store.head else { return (from, store.head) }
                let end = min(store.head, from + 20_000 - 1)
                let log = store.tables.log.events
                let following = try store.read { transaction in
                    try log.forEachRecord(from: from, floor: store.record.floor.seq.rawValue, in: transaction) {
                        seq, record in
                        guard seq <= end else { return false }
                        let kind = try RecordHeader.read(record, seq: seq).kind
                        if kind == .held || kind == .released { seqs.append(seq) }
                        return seq < end
                    }
                }
                return (max(following, end + 1), store.head)
            }
        } while next <= head
        var events: [Event] = []
        for seq in seqs { events.append(try event(Seq(seq))) }
        var holds = known
        holds.take(events, through: Seq(head))
        return holds
    }
}

@_spi(Operations) extension StoreUpkeep {
    /// The event that put a user on hold, while the task waits.
    public func hold(of user: String) async throws(TraylogError) -> Event? {
        try await store.asking { store throws(TraylogError) in try store.hold(of: user) }
    }

    /// All who are on legal hold, while the task waits.
    public func legalHolds(since known: LegalHolds = LegalHolds()) async throws(TraylogError) -> LegalHolds {
        try await store.askingOfAll { store throws(TraylogError) in try store.legalHolds(since: known) }
    }
}
