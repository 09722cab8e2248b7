import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogPlatform

/// Brings the stored states up to the log, a slice at a time and in key order, round after round.
///
/// A round starts with the head of its moment; when it has visited every user who had unstored events then, the
/// stored states hold everything up to that head, and the tail before it can go.
struct Flusher {
    /// Pages that one transaction may free: more would make LMDB's list of free pages slow (Docs/lmdb.md).
    static let pagesPerSlice = 350
    /// Names that are sorted at once: a few milliseconds.
    static let sortedTogether = 4_096
    /// How long a slice may take: users who were not looked at for long may have many broadcasts to catch up with.
    static let nanosecondsPerSlice: Int64 = 5_000_000
    /// Slices of fewer users are not worth a transaction's share.
    static let smallestSlice = 64

    /// The round that is under way.
    private struct Round {
        /// The head when it started.
        let head: UInt64
        let nextStream: UInt32
        let topics: UInt64
        let startUsers: Int
        var position: UInt32 = 0
        var names: [UserSlot]
        /// Some of them, in descending order.
        var sortedNames: [UserSlot] = []
        /// The slice that ends it was made, and is being written.
        var isCollected = false
    }

    let tailEvents: Int
    private var round: Round?
    /// Users that this round owes, for the events appended since it started.
    private var credit = 0.0
    /// A running mean of what a user's rows take, to guess how many users share an LMDB page.
    private var bytesPerUser = 400.0
    /// The memory of slices before.
    private var buffers: [RowBuffer] = []
    /// How many users the next slice should have, when there will be one.
    private var wanted: Int?
    /// A slice that was made while the transaction before was written.
    private var prepared: Slice?

    init(tailEvents: Int) {
        self.tailEvents = max(tailEvents, 1)
    }

    var isUnderWay: Bool { round != nil }

    /// What goes into the next transaction beside `events` new ones: nothing, or a slice.
    mutating func slice(besides events: Int, core: inout Core) throws -> Slice? {
        if round == nil {
            guard core.tail.count >= max(tailEvents * 3 / 4, 1) else { return nil }
            start(core: &core)
        }
        guard let round, !round.isCollected || prepared != nil else { return nil }
        // The round ends when the last quarter of the tail's bound was appended, or sooner.
        let work = Double(round.startUsers + round.names.count)
        let share = work * Double(events) / Double(max(tailEvents / 4, 1))
        credit += share
        let isLate = core.tail.count > tailEvents
        var slice = takePrepared()
        if let slice {
            credit -= Double(slice.states.count)
        } else if credit >= Double(Flusher.smallestSlice) || isLate {
            slice = try collect(users: isLate ? .max : Int(credit), core: &core)
            credit = 0
        }
        // The transaction after this one is probably as large.
        let next = Int(max(credit + share, Double(Flusher.smallestSlice)))
        wanted = slice?.completes == nil ? (isLate ? .max : next) : nil
        return slice
    }

    private mutating func takePrepared() -> Slice? {
        wanted = nil
        defer { prepared = nil }
        return prepared
    }

    /// Whether there is something to do for ``prepare(core:)``.
    var wantsToPrepare: Bool { wanted != nil }

    /// Makes the slice of the next transaction, by another thread, while the writer waits for the disk.
    ///
    /// It holds durable events only, so that it is right whatever becomes of the transaction under way.
    mutating func prepare(core: inout Core) {
        guard let users = wanted, prepared == nil, round != nil else { return wanted = nil }
        wanted = nil
        // The writer comes to the same error when it tries.
        prepared = try? collect(users: users, core: &core)
    }

    /// As much as one transaction can take, whatever was appended; nil when everything is stored.
    mutating func slice(core: inout Core) throws -> Slice? {
        if let slice = takePrepared() { return slice }
        if round == nil {
            guard core.tail.count > 0 || core.hasRefolded else { return nil }
            start(core: &core)
        }
        return try collect(users: .max, core: &core)
    }

    private mutating func start(core: inout Core) {
        // Not those of the transaction in the making: their events are behind the head.
        round = Round(
            head: core.head.seq, nextStream: UInt32(core.committedStreams) + 1, topics: core.committedTopics,
            startUsers: core.unstored.count,
            names: core.unnamed)
        core.unnamed = []
        credit = 0
    }

    private mutating func collect(users: Int, core: inout Core) throws -> Slice {
        guard var round else { preconditionFailure("a slice belongs to a round") }
        var slice = Slice(generation: core.generation)
        if let buffer = buffers.popLast() { slice.rows = buffer }
        slice.rows.removeAll()
        takeNames(&round, into: &slice)
        var pages = Double(slice.names.count)
        var last = round.position
        let start = SystemClock.monotonicNanoseconds()
        while slice.states.count < users, pages < Double(Flusher.pagesPerSlice),
            slice.states.isEmpty || SystemClock.monotonicNanoseconds() - start < Flusher.nanosecondsPerSlice,
            let stream = core.unstored.next(from: round.position)
        {
            guard let (state, rows) = try collect(stream, core: &core, rows: &slice.rows) else {
                preconditionFailure("stream \(stream) has unstored events and no user")
            }
            bytesPerUser += (Double(slice.rows.lastValueBytes) + 40 - bytesPerUser) / 256
            // Users far apart have a page each, neighbours share one.
            pages += min(1, Double(stream - last) * bytesPerUser / 3_000) + Double(rows - 1)
            last = stream
            round.position = stream + 1
            slice.states.append(state)
        }
        if round.names.isEmpty, round.sortedNames.isEmpty, core.unstored.next(from: round.position) == nil {
            slice.completes = (round.head, round.nextStream, round.topics)
            round.isCollected = true
        }
        self.round = round
        return slice
    }

    /// Sorted neighbours share pages of the table of names.
    private func takeNames(_ round: inout Round, into slice: inout Slice) {
        if round.sortedNames.isEmpty, !round.names.isEmpty {
            let count = min(Flusher.sortedTogether, round.names.count)
            let keyed = round.names.suffix(count).map { (key: $0.nameKey, slot: $0) }
            round.names.removeLast(count)
            round.sortedNames = keyed.sorted { $1.key.lexicographicallyPrecedes($0.key) }.map(\.slot)
        }
        let count = min(Flusher.pagesPerSlice, round.sortedNames.count)
        slice.names = round.sortedNames.suffix(count).reversed()
        round.sortedNames.removeLast(count)
    }

    private func collect(
        _ stream: UInt32, core: inout Core, rows: inout RowBuffer
    ) throws -> (state: Slice.State, rows: Int)? {
        guard let slot = try core.unstoredSlot(stream) else { return nil }
        let wasAtHand = slot.current != nil
        let box = try core.storable(slot)
        let rowsBefore = rows.count
        if core.keptFloor != 0 || (!slot.isTopic && box.state.lastLandmark != 0) {
            let kept = KeptRows(
                stream: stream, floor: core.keptFloor, stored: try core.pages(of: stream))
            try core.renewBases(of: box, stream: stream)
            kept.append(box.bases, name: slot.name, to: &rows)
            try kept.append(for: box.state, name: slot.name, landmarks: box.landmarks, to: &rows)
        }
        box.state.pack(into: &rows, stream: stream, name: slot.name)
        let state = Slice.State(slot: slot, appliedSeq: box.state.appliedSeq, lastOwn: box.state.events.last)
        // Loaded for its flush only: others ask for it more often.
        if !wasAtHand { core.setCurrent(nil, of: slot) }
        return (state, rows.count - rowsBefore)
    }

    /// The slice is durable.
    mutating func publish(_ slice: Slice, to core: inout Core) {
        for slot in slice.names { slot.isNamed = true }
        core.capture?.note(slice)
        for state in slice.states {
            let slot = state.slot
            if let box = slot.current, box.next != 0, box.next <= state.lastOwn {
                // Loaded while the slice was under way, to look at keys only: what it waits for leaves the tail.
                core.setCurrent(nil, of: slot)
            }
            if let box = slot.working, box.next != 0, box.next <= state.lastOwn { slot.working = nil }
            slot.current?.forget(storedThrough: state.appliedSeq)
            slot.working?.forget(storedThrough: state.appliedSeq)
            // The stream's last event that the rows hold knows the first one that they do not.
            if slot.firstUnstored != 0, slot.firstUnstored <= state.lastOwn {
                slot.firstUnstored = core.tail.next(after: state.lastOwn)
            }
            if slot.firstUnstored == 0 {
                slot.lastUnstored = 0
                core.unstored.remove(slot.stream)
            }
        }
        if let (head, nextStream, topics) = slice.completes {
            core.flushedThrough = head
            core.hasRefolded = false
            (core.record.flushedThrough, core.record.nextStream, core.record.topics) = (head, nextStream, topics)
            core.nextSweepBytes = 0
            core.tail.dropThrough(head)
            round = nil
        }
    }

    /// Gives up the slice that was made in advance, and with it the round: another one will find what is to be stored.
    mutating func startAnew(core: inout Core) {
        abandon(Slice(generation: core.generation), core: &core)
    }

    /// Takes a finished slice's buffer back, to be filled again.
    mutating func reuse(_ buffer: consuming RowBuffer) {
        buffers.append(buffer)
    }

    /// The slice's transaction failed: its users and names are still to be written.
    mutating func abandon(_ slice: Slice, core: inout Core) {
        guard let abandoned = round else { return }
        let prepared = takePrepared()?.names ?? []
        core.unnamed = abandoned.names + abandoned.sortedNames + prepared + slice.names + core.unnamed
        round = nil
    }
}

/// Rows of one transaction that bring stored states up to the log.
struct Slice {
    struct State {
        let slot: UserSlot
        let appliedSeq: UInt64
        /// The newest event of the stream itself.
        let lastOwn: UInt64
    }

    let generation: Generation
    var states: [State] = []
    var rows = RowBuffer()
    var names: [UserSlot] = []
    /// The head and the next stream number of the round that this slice ends.
    var completes: (head: UInt64, nextStream: UInt32, topics: UInt64)?

    /// What the transaction writes, without the users it belongs to.
    func rows(_ core: borrowing Core) -> SliceRows {
        var record: StoreRecord?
        if let completes {
            var new = core.record
            new.flushedThrough = completes.head
            new.nextStream = completes.nextStream
            new.topics = completes.topics
            record = new
        }
        return SliceRows(
            generation: generation, names: names.map { ($0.nameKey, $0.stream) }, states: rows,
            record: record)
    }
}

/// The rows of a slice, as a value that leaves the lock.
struct SliceRows: Sendable {
    let generation: Generation
    let names: [(key: [UInt8], stream: UInt32)]
    let states: RowBuffer
    let record: StoreRecord?

    func write(_ tables: Tables, to transaction: inout WriteTransaction) throws(LMDBError) {
        let nameTable = tables.names(generation)
        for (key, stream) in names { try nameTable.put(key, stream: stream, to: &transaction) }
        try states.write(to: tables.states(generation).database, in: &transaction)
        try record?.write(tables.meta, to: &transaction)
    }
}
