import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPages
import TraylogPlatform
import TraylogStates

/// Brings the stored states up to the log, a slice at a time and in key order, round after round.
///
/// A round starts with the head of its moment; when it has visited every stream that had unstored events then, the
/// stored states hold everything up to that head, and the tail before it can go.
package struct Flusher {
    /// Pages that one transaction may free: more would make LMDB's list of free pages slow (Docs/lmdb.md).
    static let pagesPerSlice = 350
    /// Names that are sorted at once: a few milliseconds.
    static let sortedTogether = 4_096
    /// How long a slice may take: users who were not looked at for long may have many broadcasts to catch up with.
    static let nanosecondsPerSlice: Int64 = 5_000_000
    /// How many events of one stream are folded in for a slice of its own: a few milliseconds.
    private static let eventsPerSlice = 4_000
    /// How many slices come before one of a heavy stream when the tail is full.
    private static let slicesPerHeavy = 3
    /// Slices of fewer streams are not worth a transaction's share.
    static let smallestSlice = 64

    /// The round that is under way.
    private struct Round {
        let end: RoundEnd
        let startStreams: Int
        /// The first stream that was not visited.
        var position = StreamID.absent
        /// Streams whose names are to be stored.
        var names: [LiveStream]
        /// Some of them, in descending order.
        var sortedNames: [LiveStream] = []
        /// Streams that this round owes, for the events appended since it started.
        var credit = 0.0
        var ahead = Ahead.nothing
    }

    /// The slice of the next transaction, which the packer makes while the writer waits for the disk.
    private enum Ahead {
        case nothing
        /// Of so many streams, when there will be a next transaction.
        case wanted(streams: Int)
        case made(Slice)
    }

    let tailEvents: Int
    /// A state with more changed pages comes into the file in parts.
    let stagedPages: Int
    /// The one that does.
    var staging: Staging?
    /// How many did so far.
    var stagings = 0
    private var round: Round?
    private var slicesSinceHeavy = 0
    /// A running mean of what a stream's rows take, to guess how many streams share an LMDB page.
    private var bytesPerStream = 400.0
    /// The memory of slices before.
    private var buffers: [RowBuffer] = []

    package init(_ options: StoreOptions) {
        tailEvents = max(options.tailEvents, 1)
        stagedPages = max(options.stagedPages, 1)
    }

    /// The slice that goes into the next transaction beside `events` new ones; nil for none.
    mutating func slice(besides events: Int, store: inout LiveStore) throws -> Slice? {
        let isLate = store.tail.count > tailEvents
        // Busy users must not keep a full tail from being stored, nor all others them.
        if !isLate || slicesSinceHeavy >= Self.slicesPerHeavy || isStaging(store) {
            slicesSinceHeavy = 0
            if beginStaging(besides: events, store) { return try stagedSlice(besides: events, &store) }
            if let slice = try heavySlice(besides: events, &store) { return slice }
            if staging != nil { return nil }
        }
        slicesSinceHeavy += 1
        if round == nil {
            guard store.tail.count >= max(tailEvents * 3 / 4, 1) else { return nil }
            start(store)
        }
        guard let (work, before) = round.map({ (Double($0.startStreams + $0.names.count), $0.credit) }) else {
            return nil
        }
        // The round ends when the last quarter of the tail's bound was appended, or sooner.
        let share = work * Double(events) / Double(max(tailEvents / 4, 1))
        var credit = before + share
        var slice = takeMade()
        if let slice {
            credit -= Double(slice.states.count)
        } else if credit >= Double(Flusher.smallestSlice) || isLate {
            slice = try collect(streams: isLate ? .max : Int(credit), store: &store)
            credit = 0
        }
        self.round?.credit = credit
        if slice?.end == nil, heavy(store) == nil {
            // The transaction after this one is probably as large.
            let next = isLate ? .max : Int(max(credit + share, Double(Flusher.smallestSlice)))
            self.round?.ahead = .wanted(streams: next)
        }
        return slice
    }

    /// As much as one transaction can take, whatever was appended; nil when everything is stored, and while the packer
    /// makes what comes next.
    mutating func slice(store: inout LiveStore) throws -> Slice? {
        if beginStaging(besides: 0, store) { return try stagedSlice(besides: 0, &store) }
        if let slice = try heavySlice(besides: 0, &store) { return slice }
        if staging != nil { return nil }
        if let slice = takeMade() { return slice }
        if round == nil {
            guard store.hasUnstored else { return nil }
            start(store)
        }
        return try collect(streams: .max, store: &store)
    }

    /// One stream that has too much to fold or to store to wait for its turn, or a part of that; nil for none.
    ///
    /// A user whose state has become heavy with it is stored in parts: then there is nothing yet.
    private mutating func heavySlice(besides events: Int, _ store: inout LiveStore) throws -> Slice? {
        // A slice that was made in advance may hold the same stream as it was before: it goes first.
        guard let number = heavy(store), let stream = try store.stream(number), forgetAhead() else { return nil }
        let state = try store.storable(stream, events: Self.eventsPerSlice(besides: events))
        if beginStaging(besides: events, store) { return nil }
        var slice = emptySlice()
        _ = try collect(stream, state, store, into: &slice)
        return slice
    }

    /// A chain must not grow faster than it is folded.
    static func eventsPerSlice(besides events: Int) -> Int { max(eventsPerSlice, 2 * events) }

    private func heavy(_ store: borrowing LiveStore) -> StreamID? { store.states.heavy.first ?? store.tail.long.first }

    /// Wants no slice in advance, which may hold any stream; false when there is one already.
    mutating func forgetAhead() -> Bool {
        if case .made = round?.ahead { return false }
        round?.ahead = .nothing
        return true
    }

    mutating func emptySlice() -> Slice {
        var slice = Slice()
        if let buffer = buffers.popLast() { slice.rows = buffer }
        slice.rows.removeAll()
        return slice
    }

    private mutating func takeMade() -> Slice? {
        defer { round?.ahead = .nothing }
        guard case .made(let slice) = round?.ahead else { return nil }
        return slice
    }

    /// Whether there is something to do for ``prepare(store:)``.
    var wantsToPrepare: Bool {
        if case .wanted = round?.ahead { true } else { staging?.isWanted ?? false }
    }

    /// Makes the slice of the next transaction, by another thread, while the writer waits for the disk.
    ///
    /// It holds durable events only, so that it is right whatever becomes of the transaction under way.
    mutating func prepare(store: inout LiveStore) {
        guard case .wanted(let streams) = round?.ahead else { return }
        round?.ahead = .nothing
        // The writer comes to the same error when it tries.
        if let slice = try? collect(streams: streams, store: &store) { round?.ahead = .made(slice) }
    }

    private mutating func start(_ store: borrowing LiveStore) {
        let directory = store.directory
        round = Round(
            end: RoundEnd(
                head: store.head.seq, nextStream: directory.firstPending, topics: directory.topicCount),
            startStreams: store.tail.unstored.count, names: directory.unnamed.filter { !$0.isNamed })
    }

    private mutating func collect(streams: Int, store: inout LiveStore) throws -> Slice {
        // Taken out meanwhile: a million names would be copied each time that some of them are taken. A slice that fails ends the
        // round, since it lacks what the slice had taken; another round will find that.
        guard var round = round.take() else { preconditionFailure("a slice belongs to a round") }
        var slice = emptySlice()
        takeNames(&round, into: &slice)
        var pages = Double(slice.names.count)
        var last = round.position
        let start = SystemClock.monotonicNanoseconds()
        while slice.states.count < streams, pages < Double(Flusher.pagesPerSlice),
            slice.states.isEmpty || SystemClock.monotonicNanoseconds() - start < Flusher.nanosecondsPerSlice,
            let number = store.tail.unstored.next(from: round.position)
        {
            let rows = try collect(number, store: &store, into: &slice)
            bytesPerStream += (Double(slice.rows.lastValueBytes) + 40 - bytesPerStream) / 256
            // Streams far apart have a page each, neighbours share one.
            pages += min(1, Double(last.distance(to: number)) * bytesPerStream / 3_000) + Double(rows - 1)
            last = number
            round.position = number.next
        }
        if round.names.isEmpty, round.sortedNames.isEmpty, store.tail.unstored.next(from: round.position) == nil {
            slice.end = round.end
        }
        self.round = round
        return slice
    }

    /// Sorted neighbours share pages of the table of names.
    private func takeNames(_ round: inout Round, into slice: inout Slice) {
        if round.sortedNames.isEmpty, !round.names.isEmpty {
            let count = min(Flusher.sortedTogether, round.names.count)
            let keyed = round.names.suffix(count).map { (key: $0.nameKey, stream: $0) }
            round.names.removeLast(count)
            round.sortedNames = keyed.sorted { $1.key.lexicographicallyPrecedes($0.key) }.map(\.stream)
        }
        let count = min(Flusher.pagesPerSlice, round.sortedNames.count)
        slice.names = round.sortedNames.suffix(count).reversed()
        round.sortedNames.removeLast(count)
    }

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
        let storable = try StorableState(of: stream, state, store)
        try storable.pack(into: &slice.rows, stored: store.pages(of: stream.number))
        slice.states.append(storable.mark)
        return slice.rows.count - rowsBefore
    }

    /// The slice is durable.
    mutating func publish(_ slice: consuming Slice, to store: inout LiveStore) {
        for stream in slice.names { stream.isNamed = true }
        store.capture?.note(slice)
        if let staged = slice.staged { store.record.staged = staged.stream }
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
        // What is in the file of it already, its record says.
        staging = nil
    }
}

/// Changes what the record says of the state that is stored in parts.
struct StagedChange {
    /// Nil when every page is in its place.
    let stream: StagedStream?
}

/// How far the stored states reach when a round has ended.
struct RoundEnd {
    /// The head at its start.
    let head: UInt64
    let nextStream: StreamID
    let topics: UInt64
}

/// Rows of one transaction that bring stored states up to the log.
package struct Slice {
    package struct State {
        package let stream: StreamID
        let appliedSeq: UInt64
        /// The newest event of the stream itself.
        let lastOwn: UInt64
        /// There was no newer one when the state was taken.
        let isNewest: Bool
    }

    package var states: [State] = []
    var rows = RowBuffer()
    package var names: [LiveStream] = []
    /// Of the round that this slice ends.
    var end: RoundEnd?
    /// How far a state has come that the transactions store in parts, where that changes.
    var staged: StagedChange?

    /// The rows that the transaction writes, without the streams in memory.
    func rows(_ record: StoreRecord) -> SliceRows {
        var new = record
        if let end { (new.flushedThrough, new.nextStream, new.topics) = (end.head, end.nextStream, end.topics) }
        if let staged { new.staged = staged.stream }
        let isChanged = end != nil || staged != nil
        return SliceRows(
            names: names.map { ($0.nameKey, $0.number) }, states: rows, record: isChanged ? new : nil)
    }
}

/// The rows of a slice, as a value that leaves the lock.
struct SliceRows: Sendable {
    let names: [(key: [UInt8], stream: StreamID)]
    let states: RowBuffer
    let record: StoreRecord?

    func write(_ tables: Tables, to transaction: inout WriteTransaction) throws(LMDBError) {
        for (key, stream) in names { try tables.names.put(key, stream: stream, to: &transaction) }
        try states.write(to: tables.states.database, in: &transaction)
        try record?.write(tables.meta, to: &transaction)
    }
}
