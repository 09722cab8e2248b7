@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Brings the stored states up to the log, a slice at a time and in key order, round after round.
///
/// A round starts with the head of its moment; when it has visited every stream that had unstored events then, the
/// stored states hold everything up to that head, and the tail before it can go.
package struct Flusher {
    /// Pages that one transaction may free: more would make LMDB's list of free pages slow (Docs/internals/lmdb.md).
    static let pagesPerSlice = 350
    /// How long a slice may take: users who were not looked at for long may have many broadcasts to catch up with.
    static let nanosecondsPerSlice: Int64 = 2_000_000
    /// The same when nobody waits for the transaction.
    static let nanosecondsPerWholeSlice: Int64 = 5_000_000
    /// The same for each event of a transaction when the tail has become much longer than it should be; no less than for any
    /// slice, and no more than when nobody waits.
    static let nanosecondsPerEvent: Int64 = 2_500
    /// How many events of one stream are folded in for a slice of its own, at least: a millisecond or a few.
    private static let eventsPerSlice = 1_000
    /// The same when the tail is full, and such slices are rare.
    private static let eventsPerRareSlice = 4_000
    /// How many slices come before one of a heavy stream when the tail is full.
    private static let slicesPerHeavy = 3
    /// Slices of fewer streams are not worth a transaction's share.
    static let smallestSlice = 64
    /// After a slice that failed, transactions of others come without one for so long.
    private static let restNanoseconds: Int64 = 1_000_000_000
    /// So many times as many events as the tail should have may wait for states that cannot be stored.
    private static let tailsWithoutStates = 8

    /// The round that is under way.
    private struct Round {
        let end: RoundEnd
        let startStreams: Int
        /// The first stream that was not visited.
        var position = StreamID.absent
        /// Of streams that have none in the file.
        var names: RoundNames
        /// Streams that this round owes, for the events appended since it started.
        var credit = 0.0
        /// Tells it from others.
        let number: Int
    }

    /// Whether new events come in the transaction of a slice.
    private enum Room {
        /// So many come, and their callers wait.
        case besides(events: Int)
        /// None: the store is idle.
        case whole

        var events: Int { if case .besides(let events) = self { events } else { 0 } }
        var isWhole: Bool { if case .whole = self { true } else { false } }
    }

    /// The slice of the next transaction, which the packer makes while the writer waits for the disk.
    private enum Ahead {
        case nothing
        /// The transaction will probably be as large as the one before it.
        case wanted(Room)
        case made(Slice)
    }

    let tailEvents: Int
    /// A state with more changed pages comes into the file in parts.
    let stagedPages: Int
    /// The one that does.
    var stagedWrite: StagedWrite?
    /// How many did so far.
    var stagedWrites = 0
    private var round: Round?
    /// How many there were.
    private var rounds = 0
    private var ahead = Ahead.nothing
    private var slicesSinceHeavy = 0
    /// What failed, and when the rest after it ends, by the monotonic clock; nil while nothing did.
    private var rest: (failure: any Error, end: Int64)?
    /// A running mean of what a stream's rows take, to guess how many streams share an LMDB page.
    private var bytesPerStream = 400.0
    /// The memory of slices before.
    private var buffers: [RowBuffer] = []

    package init(_ options: StoreOptions) {
        tailEvents = max(options.tailEvents, 1)
        stagedPages = max(options.stagedPages, 1)
    }

    /// The slice that goes into the next transaction beside `events` new ones; nil for none.
    ///
    /// After a failure there is none for a second: what failed may take long each time, while callers wait.
    mutating func slice(besides events: Int, store: inout LiveStore) throws -> Slice? {
        if let rest, SystemClock.monotonicNanoseconds() < rest.end { return nil }
        return try slice(.besides(events: events), &store)
    }

    /// Whether so much is not stored that opening after a kill would take too long: then every other transaction has to be one
    /// of states alone, whoever waits.
    func isFarBehind(_ store: borrowing LiveStore) -> Bool { rest == nil && store.tail.count > 2 * tailEvents }

    /// The error of an append while nothing more is taken: memory must not fill up with events whose states cannot be stored.
    ///
    /// Nil in between, when storing is tried again.
    func refusal(_ store: borrowing LiveStore) -> UnstoredStates? {
        guard let rest, store.tail.count >= Self.tailsWithoutStates * tailEvents,
            SystemClock.monotonicNanoseconds() < rest.end
        else { return nil }
        return UnstoredStates(events: store.tail.count, cause: rest.failure)
    }

    /// As much as one transaction can take, whatever was appended; nil when everything is stored, and while the packer
    /// makes what comes next.
    mutating func slice(store: inout LiveStore) throws -> Slice? { try slice(.whole, &store) }

    private mutating func slice(_ room: Room, _ store: inout LiveStore) throws -> Slice? {
        let share = share(of: room)
        round?.credit += share
        let slice: Slice?
        if case .made(let made) = ahead {
            slice = made
            round?.credit -= Double(made.states.count + made.names.count)
        } else {
            do {
                slice = try make(room, &store)
                rest = nil
            } catch {
                rest = (error, SystemClock.monotonicNanoseconds() + Self.restNanoseconds)
                throw error
            }
        }
        let canPrepare = !isWritingStaged(store) && slice?.end == nil && (round != nil || !store.tail.long.isEmpty)
        ahead = canPrepare ? .wanted(room) : .nothing
        return slice
    }

    private mutating func make(_ room: Room, _ store: inout LiveStore) throws -> Slice? {
        if isHeavyInTurn(room, store) || isWritingStaged(store) {
            slicesSinceHeavy = 0
            if beginStagedWrite(besides: room.events, store) { return try stagedSlice(besides: room.events, &store) }
            let heavy = store.states.heavy.first ?? store.tail.long.first
            if let heavy, let state = try fold(heavy, besides: room.events, &store) {
                // A user whose state has become heavy with it is stored in parts: then there is nothing yet.
                return beginStagedWrite(besides: room.events, store) ? nil : try slice(of: state, store)
            }
        }
        slicesSinceHeavy += 1
        if round == nil {
            guard room.isWhole ? store.hasUnstored : store.tail.count >= max(tailEvents * 3 / 4, 1) else { return nil }
            start(&store)
        }
        if isLate(room, store) { return try collect(streams: .max, room, store: &store) }
        guard let credit = round?.credit, credit >= Double(Self.smallestSlice) else { return nil }
        round?.credit = 0
        return try collect(streams: Int(credit), room, store: &store)
    }

    /// Whether everything that fits is stored, and not only what the round owes.
    private func isLate(_ room: Room, _ store: borrowing LiveStore) -> Bool {
        room.isWhole || store.tail.count > tailEvents
    }

    /// Whether a stream with much to fold or to store comes before the round.
    ///
    /// Busy users must not keep a full tail from being stored, nor all others them.
    private func isHeavyInTurn(_ room: Room, _ store: borrowing LiveStore) -> Bool {
        room.isWhole || store.tail.count <= tailEvents || slicesSinceHeavy >= Self.slicesPerHeavy
    }

    /// How many streams the round owes for so many events: it ends when the last quarter of the tail's bound was appended, or
    /// sooner.
    private func share(of room: Room) -> Double {
        let work = (round?.startStreams ?? 0) + (round?.names.count ?? 0)
        return Double(work) * Double(room.events) / Double(max(tailEvents / 4, 1))
    }

    /// Folds some events of a stream in that has too many of them, or too much to store, to wait for its turn.
    private func fold(
        _ number: StreamID, besides events: Int, _ store: inout LiveStore
    ) throws -> (stream: LiveStream, state: CachedState)? {
        guard let stream = try store.stream(number) else { return nil }
        return (stream, try store.storable(stream, events: eventsPerSlice(besides: events, store)))
    }

    private mutating func slice(
        of folded: (stream: LiveStream, state: CachedState), _ store: borrowing LiveStore
    ) throws -> Slice {
        var slice = emptySlice()
        _ = try collect(folded.stream, folded.state, store, into: &slice)
        return slice
    }

    /// A chain must not grow faster than it is folded, and nobody wait for more than that.
    func eventsPerSlice(besides events: Int, _ store: borrowing LiveStore) -> Int {
        if store.tail.count > tailEvents { return max(Self.eventsPerRareSlice, 2 * events) }
        return max(Self.eventsPerSlice, events + events / 2)
    }

    mutating func emptySlice() -> Slice {
        var slice = Slice()
        if let buffer = buffers.popLast() { slice.rows = buffer }
        slice.rows.removeAll()
        return slice
    }

    /// Whether the packer has something to do.
    var wantsToPrepare: Bool {
        if case .wanted = ahead { return true }
        return stagedWrite?.isWanted ?? false || round?.names.isWanted ?? false
    }

    /// Makes the slice of the next transaction, by another thread, while the writer waits for the disk.
    ///
    /// It holds durable events only, so that it is right whatever becomes of the transaction under way.
    ///
    /// - Parameter underWay: the slice of that transaction. No stream is in both: the file does not say yet what is to be kept of
    ///   such a stream.
    mutating func prepare(after underWay: Slice?, store: inout LiveStore) {
        guard case .wanted(let room) = ahead else { return }
        ahead = .nothing
        // The writer comes to the same error when it tries.
        if let slice = try? makeAhead(room, after: underWay, &store) { ahead = .made(slice) }
    }

    private mutating func makeAhead(_ room: Room, after underWay: Slice?, _ store: inout LiveStore) throws -> Slice? {
        if isHeavyInTurn(room, store) {
            // Only the writer begins to store a state in parts.
            guard store.states.heavy.isEmpty else { return nil }
            let long = store.tail.long.first { !(underWay?.holds($0) ?? false) }
            if let long, let folded = try fold(long, besides: room.events, &store) {
                guard store.states.heavy.isEmpty else { return nil }
                slicesSinceHeavy = 0
                return try slice(of: folded, store)
            }
        }
        guard let before = round?.credit, underWay?.end == nil else { return nil }
        slicesSinceHeavy += 1
        let credit = max(before + share(of: room), Double(Self.smallestSlice))
        return try collect(streams: isLate(room, store) ? .max : Int(credit), room, after: underWay, store: &store)
    }

    private mutating func start(_ store: inout LiveStore) {
        rounds += 1
        round = Round(
            end: RoundEnd(
                head: store.head.seq, nextStream: store.directory.firstPending, topics: store.directory.topicCount),
            startStreams: store.tail.unstored.count,
            names: RoundNames(store.directory.beginNaming(), of: store.directory.streamCount), number: rounds)
    }

    private mutating func collect(
        streams: Int, _ room: Room, after underWay: Slice? = nil, store: inout LiveStore
    ) throws -> Slice? {
        // Taken out meanwhile: a million names would be copied each time that some of them are taken. A slice that fails ends the
        // round, since it lacks what the slice had taken; another round will find that.
        guard var round = round.take() else { preconditionFailure("a slice belongs to a round") }
        var slice = emptySlice()
        var pages = Double(Flusher.pagesPerSlice)
        slice.names = round.names.take(streams, pages: &pages)
        var last = round.position
        let end = SystemClock.monotonicNanoseconds() + time(room, store)
        while slice.states.count < streams - slice.names.count, pages > 0,
            slice.states.isEmpty || SystemClock.monotonicNanoseconds() < end,
            let number = store.tail.unstored.next(from: round.position), !(underWay?.holds(number) ?? false)
        {
            let rows = try collect(number, store: &store, into: &slice)
            bytesPerStream += (Double(slice.rows.lastValueBytes) + 40 - bytesPerStream) / 256
            // Streams far apart have a page each, neighbours share one.
            pages -= min(1, Double(last.distance(to: number)) * bytesPerStream / 3_000) + Double(rows - 1)
            last = number
            round.position = number.next
        }
        if round.names.isEmpty, store.tail.unstored.next(from: round.position) == nil {
            slice.end = round.end
        }
        self.round = round
        return slice.isEmpty ? nil : slice
    }

    /// How long a slice may take.
    private func time(_ room: Room, _ store: borrowing LiveStore) -> Int64 {
        if room.isWhole { return Self.nanosecondsPerWholeSlice }
        guard store.tail.count > tailEvents * 3 / 2 else { return Self.nanosecondsPerSlice }
        let wanted = Int64(room.events) * Self.nanosecondsPerEvent
        return min(max(wanted, Self.nanosecondsPerSlice), Self.nanosecondsPerWholeSlice)
    }

    /// Hands the names of a round to the packer, which sorts them without the lock.
    mutating func takeUnsorted() -> (names: UnsortedNames, round: Int)? {
        guard let number = round?.number, let names = round?.names.takeUnsorted() else { return nil }
        return (names, number)
    }

    /// Takes names that the packer sorted, unless their round was given up.
    mutating func put(_ names: SortedNames, ofRound number: Int) {
        if round?.number == number { round?.names.put(names) }
    }

    /// Nothing can be stored, or not all, before the packer has done its part.
    var waitsForPacker: Bool { waitsForRows || round?.names.isSorted == false }

    /// - Returns: how many rows it took.
    func collect(_ number: StreamID, store: inout LiveStore, into slice: inout Slice) throws -> Int {
        guard let stream = try store.stream(number) else {
            preconditionFailure("stream \(number) has unstored events and no user")
        }
        let wasInMemory = stream.states.committed != nil
        let rows = try collect(stream, store.storable(stream), store, into: &slice)
        // Loaded for its flush only: others ask for it more often.
        if !wasInMemory { store.states.set(nil, of: stream) }
        return rows
    }

    private func collect(
        _ stream: LiveStream, _ state: CachedState, _ store: borrowing LiveStore, into slice: inout Slice
    ) throws -> Int {
        let rowsBefore = slice.rows.count
        // Once, because it is copied each time that it is taken from the object.
        let tray = state.state
        if StorableState.keepsPast(tray, of: stream) {
            let storable = try StorableState(of: stream, state, store)
            try storable.pack(into: &slice.rows, stored: store.pages(of: stream.number))
        } else {
            // Straight from the state, as nearly all are.
            tray.pack(into: &slice.rows, stream: stream.number, name: stream.name)
        }
        slice.states.append(Slice.State(of: stream, tray, store.tail))
        return slice.rows.count - rowsBefore
    }

    /// The slice is durable.
    mutating func publish(_ slice: consuming Slice, to store: inout LiveStore) {
        for stream in slice.names { stream.isNamed = true }
        if let staged = slice.staged { store.record.states.staged = staged.stream }
        for state in slice.states {
            store.flushed(state)
        }
        if let end = slice.end {
            store.endRound(end)
            round = nil
        }
        // To be filled again.
        buffers.append(slice.rows)
    }

    /// Gives up the round, and the slice that was made in advance, because a slice failed, or would not be right any more:
    /// another round will find what is to be stored.
    mutating func startAnew() {
        round = nil
        ahead = .nothing
        // What is in the file of it already, its record says.
        stagedWrite = nil
    }
}
