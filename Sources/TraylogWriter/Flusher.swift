@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Brings the stored states up to the log, a batch at a time and in key order, flush after flush.
///
/// A flush starts with the head of its moment; when it has visited every stream that had unstored events then, the
/// stored states hold everything up to that head, and the tail before it can go.
package struct Flusher {
    /// Pages that one transaction may free: more would make LMDB's list of free pages slow (Docs/internals/lmdb.md).
    static let pagesPerBatch = 350
    /// How long a batch may take: users who were not looked at for long may have many broadcasts to catch up with.
    static let nanosecondsPerBatch: Int64 = 2_000_000
    /// The same when nobody waits for the transaction.
    static let nanosecondsPerWholeBatch: Int64 = 5_000_000
    /// The same for each event of a transaction when the tail has become much longer than it should be; no less than for any
    /// batch, and no more than when nobody waits.
    static let nanosecondsPerEvent: Int64 = 2_500
    /// How many events of one stream are folded in for a batch of its own, at least: a millisecond or a few.
    private static let eventsPerBatch = 1_000
    /// The same when the tail is full, and such batches are rare.
    private static let eventsPerRareBatch = 4_000
    /// How many batches come before one of a heavy stream when the tail is full.
    private static let batchesPerHeavy = 3
    /// The fewest streams worth a batch.
    static let smallestBatch = 64
    /// After a failed batch, transactions carry none for so long.
    private static let restNanoseconds: Int64 = 1_000_000_000
    /// So many times `tailEvents` may wait while states cannot be stored.
    private static let tailsWithoutStates = 8

    /// The flush that is under way.
    private struct Flush {
        let end: FlushEnd
        let startStreams: Int
        /// The first stream that was not visited.
        var position = StreamID.absent
        /// Names that are not in the file yet.
        var names: FlushNames
        /// Streams that this flush owes, for the events appended since it started.
        var credit = 0.0
        /// Tells it from others.
        let number: Int
    }

    /// Whether new events come in the transaction of a batch.
    private enum Room {
        /// So many come, and their callers wait.
        case besides(events: Int)
        /// None: the store is idle.
        case whole

        var events: Int { if case .besides(let events) = self { events } else { 0 } }
        var isWhole: Bool { if case .whole = self { true } else { false } }
    }

    /// The batch of the next transaction, which the flush thread makes while the writer waits for the disk.
    private enum Ahead {
        case nothing
        /// The transaction will probably be as large as the one before it.
        case wanted(Room)
        case made(FlushBatch)
    }

    let tailEvents: Int
    /// A state with more changed pages is stored in parts.
    let pagesAtOnce: Int
    /// The one that is.
    var writeInParts: WriteInParts?
    /// How many were so far.
    var writesInParts = 0
    private var flush: Flush?
    /// How many there were.
    private var flushes = 0
    private var ahead = Ahead.nothing
    private var batchesSinceHeavy = 0
    /// What failed, and when the rest after it ends, by the monotonic clock; nil while nothing did.
    private var rest: (failure: any Error, end: Int64)?
    /// A running mean of what a stream's rows take, to guess how many streams share an LMDB page.
    private var bytesPerStream = 400.0
    /// The memory of batches before.
    private var buffers: [RowBuffer] = []

    package init(_ options: StoreOptions) {
        tailEvents = max(options.tailEvents, 1)
        pagesAtOnce = max(options.pagesAtOnce, 1)
    }

    /// The batch that goes into the next transaction beside `events` new ones; nil for none.
    ///
    /// After a failure there is none for a second: what failed may take long each time, while callers wait.
    mutating func batch(besides events: Int, store: inout LiveStore) throws -> FlushBatch? {
        if let rest, SystemClock.monotonicNanoseconds() < rest.end { return nil }
        return try batch(.besides(events: events), &store)
    }

    /// Whether so much is not stored that opening after a kill would take too long: then every other transaction has to be one
    /// of states alone, whoever waits.
    func hasBackPressure(_ store: borrowing LiveStore) -> Bool { rest == nil && store.tail.count > 2 * tailEvents }

    /// The error of an append while nothing more is taken: memory must not fill up with events whose states cannot be stored.
    ///
    /// Nil in between, when storing is tried again.
    func refusal(_ store: borrowing LiveStore) -> UnstoredStates? {
        guard let rest, store.tail.count >= Self.tailsWithoutStates * tailEvents,
            SystemClock.monotonicNanoseconds() < rest.end
        else { return nil }
        return UnstoredStates(events: store.tail.count, cause: rest.failure)
    }

    /// As much as one transaction can take, whatever was appended; nil when everything is stored, and while the flush thread
    /// makes what comes next.
    mutating func batch(store: inout LiveStore) throws -> FlushBatch? { try batch(.whole, &store) }

    private mutating func batch(_ room: Room, _ store: inout LiveStore) throws -> FlushBatch? {
        let share = share(of: room)
        flush?.credit += share
        let batch: FlushBatch?
        if case .made(let made) = ahead {
            batch = made
            flush?.credit -= Double(made.states.count + made.names.count)
        } else {
            do {
                batch = try make(room, &store)
                rest = nil
            } catch {
                rest = (error, SystemClock.monotonicNanoseconds() + Self.restNanoseconds)
                throw error
            }
        }
        let canPrepare = writeInParts == nil && batch?.end == nil && (flush != nil || !store.tail.long.isEmpty)
        ahead = canPrepare ? .wanted(room) : .nothing
        return batch
    }

    private mutating func make(_ room: Room, _ store: inout LiveStore) throws -> FlushBatch? {
        if isHeavyInTurn(room, store) || writeInParts != nil {
            batchesSinceHeavy = 0
            if beginWriteInParts(besides: room.events, store) { return try nextPart(besides: room.events, &store) }
            let heavy = store.states.heavy.first ?? store.tail.long.first
            if let heavy, let state = try fold(heavy, besides: room.events, &store) {
                // A user whose state has become heavy with it is stored in parts: then there is nothing yet.
                return beginWriteInParts(besides: room.events, store) ? nil : try batch(of: state, &store)
            }
        }
        batchesSinceHeavy += 1
        if flush == nil {
            guard room.isWhole ? store.isDirty : store.tail.count >= max(tailEvents * 3 / 4, 1) else { return nil }
            start(&store)
        }
        if isLate(room, store) { return try collect(streams: .max, room, store: &store) }
        guard let credit = flush?.credit, credit >= Double(Self.smallestBatch) else { return nil }
        flush?.credit = 0
        return try collect(streams: Int(credit), room, store: &store)
    }

    /// Whether everything that fits is stored, and not only what the flush owes.
    private func isLate(_ room: Room, _ store: borrowing LiveStore) -> Bool {
        room.isWhole || store.tail.count > tailEvents
    }

    /// Whether a stream with much to fold or to store comes before the flush.
    ///
    /// Busy users must not keep a full tail from being stored, nor all others them.
    private func isHeavyInTurn(_ room: Room, _ store: borrowing LiveStore) -> Bool {
        room.isWhole || store.tail.count <= tailEvents || batchesSinceHeavy >= Self.batchesPerHeavy
    }

    /// How many streams the flush owes for so many events: it ends when the last quarter of the tail's bound was appended, or
    /// sooner.
    private func share(of room: Room) -> Double {
        let work = (flush?.startStreams ?? 0) + (flush?.names.count ?? 0)
        return Double(work) * Double(room.events) / Double(max(tailEvents / 4, 1))
    }

    /// Folds in some events of a stream that has too many, or too much to store, to wait for its turn.
    private func fold(
        _ number: StreamID, besides events: Int, _ store: inout LiveStore
    ) throws -> (stream: LiveStream, state: CachedState)? {
        guard let stream = try store.stream(number) else { return nil }
        return (stream, try store.storable(stream, events: eventsPerBatch(besides: events, store)))
    }

    private mutating func batch(
        of folded: (stream: LiveStream, state: CachedState), _ store: inout LiveStore
    ) throws -> FlushBatch {
        var batch = emptyBatch()
        _ = try collect(folded.stream, folded.state, &store, into: &batch)
        return batch
    }

    /// A chain must not grow faster than it is folded; more than that would make callers wait.
    func eventsPerBatch(besides events: Int, _ store: borrowing LiveStore) -> Int {
        if store.tail.count > tailEvents { return max(Self.eventsPerRareBatch, 2 * events) }
        return max(Self.eventsPerBatch, events + events / 2)
    }

    mutating func emptyBatch() -> FlushBatch {
        var batch = FlushBatch()
        if let buffer = buffers.popLast() { batch.rows = buffer }
        batch.rows.removeAll()
        return batch
    }

    /// Whether the flush thread has something to do.
    var wantsToPrepare: Bool {
        if case .wanted = ahead { return true }
        return writeInParts?.isWanted ?? false || flush?.names.isWanted ?? false
    }

    /// Makes the batch of the next transaction, by another thread, while the writer waits for the disk.
    ///
    /// It holds durable events only, so that it is right whatever becomes of the transaction under way.
    ///
    /// - Parameter underWay: the batch of that transaction. No stream is in both: the file does not say yet what is to be kept of
    ///   such a stream.
    mutating func prepare(after underWay: FlushBatch?, store: inout LiveStore) {
        guard case .wanted(let room) = ahead else { return }
        ahead = .nothing
        // The writer comes to the same error when it tries.
        if let batch = try? makeAhead(room, after: underWay, &store) { ahead = .made(batch) }
    }

    private mutating func makeAhead(_ room: Room, after underWay: FlushBatch?, _ store: inout LiveStore) throws
        -> FlushBatch?
    {
        if isHeavyInTurn(room, store) {
            // Only the writer begins to store a state in parts.
            guard store.states.heavy.isEmpty else { return nil }
            let long = store.tail.long.first { !(underWay?.holds($0) ?? false) }
            if let long, let folded = try fold(long, besides: room.events, &store) {
                guard store.states.heavy.isEmpty else { return nil }
                batchesSinceHeavy = 0
                return try batch(of: folded, &store)
            }
        }
        guard let before = flush?.credit, underWay?.end == nil else { return nil }
        batchesSinceHeavy += 1
        let credit = max(before + share(of: room), Double(Self.smallestBatch))
        return try collect(streams: isLate(room, store) ? .max : Int(credit), room, after: underWay, store: &store)
    }

    private mutating func start(_ store: inout LiveStore) {
        flushes += 1
        flush = Flush(
            end: FlushEnd(
                head: store.head.seq, nextStream: store.directory.firstPending, topics: store.directory.topicCount),
            startStreams: store.tail.unstored.count,
            names: FlushNames(store.directory.beginNaming(), of: store.directory.streamCount), number: flushes)
    }

    private mutating func collect(
        streams: Int, _ room: Room, after underWay: FlushBatch? = nil, store: inout LiveStore
    ) throws -> FlushBatch? {
        // Taken out meanwhile: a million names would be copied each time that some of them are taken. A batch that fails ends the
        // flush, since it lacks what the batch had taken; another flush will find that.
        guard var flush = flush.take() else { preconditionFailure("a batch belongs to a flush") }
        var batch = emptyBatch()
        var pages = Double(Flusher.pagesPerBatch)
        batch.names = flush.names.take(streams, pages: &pages)
        var last = flush.position
        let end = SystemClock.monotonicNanoseconds() + time(room, store)
        while batch.states.count < streams - batch.names.count, pages > 0,
            batch.states.isEmpty || SystemClock.monotonicNanoseconds() < end,
            let number = store.tail.unstored.next(from: flush.position), !(underWay?.holds(number) ?? false)
        {
            let rows = try collect(number, store: &store, into: &batch)
            bytesPerStream += (Double(batch.rows.lastValueBytes) + 40 - bytesPerStream) / 256
            // Streams far apart have a page each, neighbours share one.
            pages -= min(1, Double(last.distance(to: number)) * bytesPerStream / 3_000) + Double(rows - 1)
            last = number
            flush.position = number.next
        }
        if flush.names.isEmpty, store.tail.unstored.next(from: flush.position) == nil {
            batch.end = flush.end
        }
        self.flush = flush
        return batch.isEmpty ? nil : batch
    }

    /// How long a batch may take.
    private func time(_ room: Room, _ store: borrowing LiveStore) -> Int64 {
        if room.isWhole { return Self.nanosecondsPerWholeBatch }
        guard store.tail.count > tailEvents * 3 / 2 else { return Self.nanosecondsPerBatch }
        let wanted = Int64(room.events) * Self.nanosecondsPerEvent
        return min(max(wanted, Self.nanosecondsPerBatch), Self.nanosecondsPerWholeBatch)
    }

    /// Hands the names of a flush to the flush thread, which sorts them without the lock.
    mutating func takeUnsorted() -> (names: UnsortedNames, flush: Int)? {
        guard let number = flush?.number, let names = flush?.names.takeUnsorted() else { return nil }
        return (names, number)
    }

    /// Takes names that the flush thread sorted, unless their flush was given up.
    mutating func put(_ names: SortedNames, ofFlush number: Int) {
        if flush?.number == number { flush?.names.put(names) }
    }

    /// Nothing can be stored, or not all, before the flush thread has done its part.
    var waitsForFlushThread: Bool { waitsForRows || flush?.names.isSorted == false }

    /// - Returns: how many rows it took.
    func collect(_ number: StreamID, store: inout LiveStore, into batch: inout FlushBatch) throws -> Int {
        guard let stream = try store.stream(number) else {
            throw DamagedStates("the name of stream \(number)")
        }
        let wasInMemory = stream.states.committed != nil
        let rows = try collect(stream, store.storable(stream), &store, into: &batch)
        // Loaded for its flush only: others ask for it more often.
        if !wasInMemory { store.states.set(nil, of: stream) }
        return rows
    }

    private func collect(
        _ stream: LiveStream, _ state: CachedState, _ store: inout LiveStore, into batch: inout FlushBatch
    ) throws -> Int {
        let writtenBefore = batch.rows.written
        // Once, because it is copied each time that it is taken from the object.
        let tray = state.state
        if state.hasPast {
            try tray.pack(
                into: &batch.rows, stream: stream.number, name: stream.name, landmarks: state.landmarks,
                over: store.pages(of: stream.number, state))
        } else {
            // As nearly all are.
            tray.pack(into: &batch.rows, stream: stream.number, name: stream.name)
        }
        batch.states.append(store.beginStoring(stream, tray))
        return batch.rows.written - writtenBefore
    }

    /// The batch is durable.
    mutating func publish(_ batch: consuming FlushBatch, to store: inout LiveStore) {
        for stream in batch.names { stream.isNamed = true }
        for state in batch.states {
            store.flushed(state)
        }
        if let end = batch.end {
            store.endFlush(end)
            flush = nil
        }
        // To be filled again.
        buffers.append(batch.rows)
    }

    /// Gives up the flush, and the batch that was made in advance, because a batch failed, or would not be right any more:
    /// another flush will find what is to be stored.
    mutating func startAnew() {
        flush = nil
        ahead = .nothing
        writeInParts = nil
    }
}
