import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Everything behind the store's lock: what readers look at, and the transaction that the writer is making.
package struct WriterMemory: ~Copyable {
    package var store: LiveStore
    var flusher: Flusher
    var transaction = PendingTransaction()
    /// Part of the transaction.
    private var batch: FlushBatch?
    /// Why no batch could be made for a transaction of events.
    private var flushFailure: (any Error)?
    var random = RandomPool()
    /// The streams of the users of some commands of one request.
    var numbers: ContiguousArray<StreamID> = []
    var isClosed = false
    /// How often the lock was taken; for tests, which count.
    var sections = 0

    package init(store: consuming sending LiveStore, flusher: Flusher) {
        self.store = store
        self.flusher = flusher
    }

    // MARK: Making a transaction

    /// Deals with some entries that are due, as many as one transaction has time for.
    mutating func settle(_ queue: DueQueue, now: Timestamp) throws -> SettledDues {
        try begin(events: min(queue.count, PendingTransaction.entriesPerTick), now: now)
        do {
            return try transaction.settle(queue, store: &store, random: &random)
        } catch {
            rollBack()
            throw error
        }
    }

    /// Appends an event of an operator to a user's stream, which may be new, as one transaction.
    ///
    /// - Parameter body: what the event says, given the stream; nil appends nothing.
    mutating func append(
        of user: String, actor: String?, device: String?, now: Timestamp,
        _ body: @Sendable (LiveStream?, inout PendingTransaction, inout LiveStore) throws -> Event.Body?
    ) throws -> Seq? {
        try begin(events: 1, now: now)
        do {
            let known = try store.stream(of: UserName(user, store.hasher))
            if let known, known.isErased { throw Refusal.invalid(field: "user", reason: "was erased") }
            guard let body = try body(known, &transaction, &store) else {
                rollBack()
                return nil
            }
            // Only who asks is taken of the command.
            let command = Command(user: user, .seeTray(), actor: actor, device: device)
            return try transaction.append(
                command, body, fingerprint: 0, salt: random.nextSalt(), to: known ?? store.newStream(.user(user)),
                store: &store)
        } catch {
            rollBack()
            throw error
        }
    }

    /// Starts the next transaction, with a batch when one is due.
    ///
    /// - Throws: ``UnstoredStates`` while too many events wait for states that cannot be stored; ``StoreFailure`` when the
    ///   clock says a time that no event can have. Stored once, it would stamp all later events, because times never decrease.
    mutating func begin(events: Int, now: Timestamp) throws {
        guard now == store.head.recordedAt || Timestamp.rfc3339Range.contains(now) else {
            throw StoreFailure.impossibleTime(now)
        }
        if let refusal = flusher.refusal(store) { throw refusal }
        transaction.begin(store, now: now)
        // A state that cannot be stored must not keep events from being appended: the log holds everything.
        do {
            batch = try flusher.batch(besides: events, store: &store)
        } catch {
            (batch, flushFailure) = (nil, error)
            guard let refusal = flusher.refusal(store) else { return }
            rollBack()
            throw refusal
        }
    }

    /// Makes a transaction of nothing but a batch, as large as it may be.
    mutating func makeFlushBatch() throws {
        transaction.begin(store, now: store.head.recordedAt)
        batch = try flusher.batch(store: &store)
    }

    /// Makes the batch of the next transaction.
    mutating func prepareFlushBatch() { flusher.prepare(after: batch, store: &store) }

    /// What kept the batch of this transaction from being made, once, to be told to whoever observes the store.
    mutating func takeFlushFailure() -> (any Error)? { flushFailure.take() }

    /// The values to write; nil when there are none.
    func values() -> TransactionValues? {
        transaction.values(with: batch?.rows(store.record.states), store)
    }

    // MARK: Its end

    /// The transaction failed: nothing of it remains.
    mutating func rollBack() {
        transaction.rollBack(to: store.head.seq + 1, store: &store)
        if batch != nil {
            flusher.startAnew()
            store.states.giveUpStoring()
        }
        batch = nil
    }

    /// The transaction is durable.
    ///
    /// - Returns: whose trays its events may change; nil where nobody wants to know.
    mutating func publish(wantsTouched: Bool) -> Touched? {
        let touched = transaction.publish(to: &store, wantsTouched: wantsTouched)
        if let batch = batch.take() { flusher.publish(batch, to: &store) }
        store.sweep()
        return touched
    }

    /// Replaces the memory by what the file has now; an announced floor and erasure stay.
    mutating func reload(_ new: LiveStore) {
        let (floor, erasing, old) = (store.nextFloor, store.erasing, Handover(store))
        restart(with: new)
        (store.nextFloor, store.erasing) = (floor, erasing)
        // The flush thread lets go of it, which takes a while.
        store.states.discard(old)
    }

    /// Goes on with what an opening of the file gave.
    mutating func restart(with new: LiveStore) {
        // It goes on counting, so that nothing that the flush thread still makes is taken for something newer.
        flusher.startAnew()
        store = new
        transaction = PendingTransaction()
        batch = nil
    }

    /// The options that an opening needs.
    var options: StoreOptions {
        var options = StoreOptions()
        options.cacheBytes = store.states.limit
        options.landmarkDistance = store.landmarkDistance
        (options.tailEvents, options.pagesAtOnce) = (flusher.tailEvents, flusher.pagesAtOnce)
        return options
    }
}
