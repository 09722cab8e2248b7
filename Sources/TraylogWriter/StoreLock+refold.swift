import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogQueries
import TraylogStates

/// The stored state of a stream is damaged, and is to be folded anew from the log without the lock: that takes as long as the
/// log is long.
struct DamagedStream: Error {
    let stream: StreamID
}

extension StoreLock {
    /// How often a damaged state is folded without the lock before it is folded with it: a flush may end meanwhile, and then what
    /// was folded does not fit any more.
    static let refoldsAtMost = 3

    /// Runs `body` in a turn of the lock, and again after each damaged state that it meets was folded anew between two turns.
    ///
    /// - Parameter body: has changed nothing when it throws.
    func withStates<R: Sendable>(_ body: (inout WriterMemory) throws -> R) throws -> R {
        for _ in 0..<Self.refoldsAtMost {
            do {
                return try withLock { memory in
                    memory.store.refoldsLater = true
                    defer { memory.store.refoldsLater = false }
                    return try body(&memory)
                }
            } catch let damaged as DamagedStream {
                try refold(damaged.stream)
            }
        }
        return try withLock { try body(&$0) }
    }

    /// Folds a stream whose stored state is damaged from the log, and puts the state into memory; the next flush stores it.
    ///
    /// One caller at a time does; those who waited for it find the state there.
    ///
    /// - Complexity: O(log).
    func refold(_ stream: StreamID) throws {
        try refolding.withLock { _ in
            guard let start = try withLock({ try $0.store.beginRefold(of: stream) }) else { return }
            defer { start.snapshot.end() }
            let folded = try LogFold.folded(
                stream, through: start.snapshot.head, record: start.record, tables: start.tables, rows: start.snapshot)
            guard let folded else { throw PackedError.damaged("a stream without events") }
            let (state, base) = (folded.state, folded.base)
            try withLock { try $0.store.endRefold(start, state, over: base) }
        }
    }
}

/// A fold of one stream that goes on without the lock, as it began.
struct Refold: Sendable {
    let stream: StreamID
    let record: StoreRecord
    let tables: Tables
    let snapshot: StoreSnapshot
}

extension LiveStore {
    /// - Returns: nil when the state was folded anew meanwhile.
    fileprivate mutating func beginRefold(of number: StreamID) throws -> Refold? {
        if try stream(number)?.states.committed?.isRefolded == true { return nil }
        return Refold(stream: number, record: record, tables: tables, snapshot: try lendSnapshot())
    }

    /// Puts a state that was folded without the lock into memory, if it still fits: if what came since waits in the tail, and the
    /// stream is still that person's.
    fileprivate mutating func endRefold(_ refold: Refold, _ folded: TrayState, over base: FoldBase?) throws {
        let head = refold.snapshot.head
        guard record.floor == refold.record.floor, record.erased == refold.record.erased, record.states.through <= head,
            let stream = try stream(refold.stream)
        else { return }
        put(folded, over: base, through: head, of: stream)
    }

    /// The same with the lock, for what cannot wait: a flush, a tick, an operator's event.
    ///
    /// - Throws: ``DamagedStream`` where the caller lets go of the lock first.
    /// - Complexity: O(log).
    mutating func refold(_ stream: LiveStream) throws -> CachedState {
        guard !refoldsLater else {
            states.set(nil, of: stream)
            throw DamagedStream(stream: stream.number)
        }
        let folded = try LogFold.folded(
            stream.number, through: head.seq, record: record, tables: tables, rows: snapshot())
        guard let folded else { throw PackedError.damaged("a stream without events") }
        return put(folded.state, over: folded.base, through: head.seq, of: stream)
    }

    @discardableResult
    private mutating func put(
        _ folded: TrayState, over base: FoldBase?, through head: UInt64, of stream: LiveStream
    ) -> CachedState {
        // Pages that did not change since the base are stored as they were then.
        let state = CachedState(state: folded, storedThrough: base?.state.appliedSeq ?? 0)
        (state.topicsThrough, state.isRefolded, state.isStoredDamaged) = (head, true, true)
        states.set(state, of: stream)
        noteRefolded(stream)
        return state
    }
}
