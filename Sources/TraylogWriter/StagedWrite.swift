import TraylogDomain
import TraylogLog
import TraylogPages
import TraylogStates

/// The way of one state into the file in parts (``StagedState``).
struct StagedWrite {
    enum Step {
        /// The flush thread is to make its rows.
        case wanted
        /// It does so, without the lock.
        case packing
        case failed(any Error)
        /// So many of the rows that nobody sees yet are written.
        case writing(StagedState, from: Int)
        /// The switch is made; so many pages are in their places.
        case settling([StagedState.Page], from: Int)
        /// An earlier process or transaction left rows without a switch; so many pages are taken away.
        case dropping([StagedState.Page], from: Int)
    }

    let stream: StreamID
    /// Tells one from the next.
    let number: Int
    var step = Step.wanted
    /// The switch stores the state as of this.
    var mark: FlushBatch.State?

    var isWanted: Bool { if case .wanted = step { true } else { false } }
}

/// A state as it is to be stored, with what is to be kept of what it replaces.
struct StorableState: Sendable {
    private let name: StreamName
    private let state: TrayState
    private let landmarks: [TrayState]
    let mark: FlushBatch.State

    /// - Parameter state: nil when it is damaged.
    init(of stream: LiveStream, _ state: CachedState?, _ store: borrowing LiveStore) throws {
        guard let cached = state else { throw PackedError.damaged("a state that is about to be stored") }
        landmarks = StorableState.keepsPast(cached.state, of: stream) ? cached.landmarks : []
        (name, self.state) = (stream.name, cached.state)
        mark = FlushBatch.State(of: stream, cached.state, store.tail)
    }

    /// Whether something of what it replaces is kept.
    static func keepsPast(_ state: borrowing TrayState, of stream: LiveStream) -> Bool {
        !stream.isTopic && state.lastLandmark != 0
    }

    /// - Parameter stored: the stream's pages as they are stored.
    func pack(into rows: inout RowBuffer, stored: StoredPages) throws {
        if !name.isTopic {
            let kept = KeptRows(stream: mark.stream, stored: stored)
            try kept.append(for: state, name: name, landmarks: landmarks, to: &rows)
        }
        state.pack(into: &rows, stream: mark.stream, name: name)
    }
}

/// Lets the flush thread make the rows of a state without the lock.
struct StagedWriteOrder: Sendable {
    let number: Int
    let state: StorableState
    let snapshot: StoreSnapshot

    /// Ends the snapshot.
    func rows() -> Result<StagedState, any Error> {
        defer { snapshot.end() }
        return Result {
            var rows = RowBuffer()
            try state.pack(into: &rows, stored: snapshot.pages(of: state.mark.stream))
            return try StagedState(rows, of: state.mark.stream)
        }
    }
}

extension Flusher {
    /// Beside more events than a tick appends at once, a long chain would outgrow the parts.
    private static let eventsBesideParts = 500
    /// A part has fewer rows where they are larger on average, because LMDB looks long for pages that lie side by side.
    private static let bytesPerRow = 1_024

    /// How many rows or pages make a part: a millisecond's work or two, or more beside many events.
    private func rowsPerPart(besides events: Int, _ store: borrowing LiveStore) -> Int {
        if store.tail.count > tailEvents * 3 / 4 { return .max / 2 }
        return max(min(160, max(stagedPages / 4, 1)), events)
    }

    /// Nothing can be stored before the flush thread has made the rows.
    var waitsForRows: Bool {
        switch stagedWrite?.step {
        case .wanted, .packing: true
        default: false
        }
    }

    /// A state is being stored in parts.
    func isWritingStaged(_ store: borrowing LiveStore) -> Bool {
        stagedWrite != nil || store.record.states.staged != nil
    }

    /// Begins to store a heavy state in parts, when there is one and nothing forbids it.
    ///
    /// - Returns: whether one is under way.
    mutating func beginStagedWrite(besides events: Int, _ store: borrowing LiveStore) -> Bool {
        if isWritingStaged(store) { return true }
        // A full tail must not wait for parts.
        guard store.tail.count <= tailEvents,
            let number = store.states.heavy.first, let stream = store.directory[number],
            let state = stream.states.committed?.state, StorableState.keepsPast(state, of: stream),
            // What comes in faster than parts are written is better written at once.
            events <= Self.eventsBesideParts || !store.tail.long.contains(number)
        else { return false }
        stagedWrites += 1
        stagedWrite = StagedWrite(stream: number, number: stagedWrites)
        return true
    }

    /// Hands the state that is to be stored in parts to the flush thread; nil when none waits for that.
    mutating func takeOrder(_ store: inout LiveStore) -> StagedWriteOrder? {
        guard let stagedWrite, stagedWrite.isWanted else { return nil }
        do {
            guard let stream = try store.stream(stagedWrite.stream) else {
                throw DamagedStates("the name of stream \(stagedWrite.stream)")
            }
            let state = try StorableState(of: stream, store.folded(stream), store)
            self.stagedWrite?.mark = state.mark
            self.stagedWrite?.step = .packing
            return StagedWriteOrder(number: stagedWrite.number, state: state, snapshot: try store.lendSnapshot())
        } catch {
            self.stagedWrite?.step = .failed(error)
            return nil
        }
    }

    /// Takes the rows that the flush thread made, unless nobody wants them any more.
    mutating func stage(_ rows: Result<StagedState, any Error>, of order: StagedWriteOrder) {
        guard stagedWrite?.number == order.number, waitsForRows else { return }
        switch rows {
        case .success(let state): stagedWrite?.step = .writing(state, from: 0)
        case .failure(let error): stagedWrite?.step = .failed(error)
        }
    }

    /// The next part of the state that is stored in parts; nil while the flush thread makes its rows.
    mutating func stagedBatch(besides events: Int, _ store: inout LiveStore) throws -> FlushBatch? {
        // Meanwhile a chain must not become longer than it was.
        if let number = store.tail.long.first, let stream = try store.stream(number) {
            _ = try store.storable(stream, events: eventsPerBatch(besides: events, store))
        }
        if stagedWrite == nil, let staged = store.record.states.staged {
            do {
                try resume(staged, store)
            } catch PackedError.damaged where staged.isInForce {
                return try replaceStaged([], staged.stream, &store)
            }
        }
        guard let stagedWrite else { return nil }
        let part = rowsPerPart(besides: events, store)
        switch stagedWrite.step {
        case .wanted, .packing: return nil
        case .failed(let error):
            self.stagedWrite = nil
            throw error
        case .writing(let state, let start): return write(state, from: start, part, stagedWrite.mark, &store)
        case .dropping(let pages, let start): return try drop(pages, from: start, part, stagedWrite.stream, store)
        case .settling(let pages, let start):
            do {
                return try settle(pages, from: start, part, stagedWrite.stream, store)
            } catch PackedError.damaged {
                return try replaceStaged(pages, stagedWrite.stream, &store)
            }
        }
    }

    /// Goes on where an earlier process or transaction ended.
    private mutating func resume(_ staged: StagedStream, _ store: borrowing LiveStore) throws {
        let states = store.tables.derived.states
        let list = Result { try store.snapshot().read { try states.stagedPages(of: staged.stream, in: $0) } }
        stagedWrites += 1
        var stagedWrite = StagedWrite(stream: staged.stream, number: stagedWrites)
        if staged.isInForce {
            stagedWrite.step = .settling(try list.get(), from: 0)
        } else {
            // Versions that stay without a list are never asked for: an equal one takes the place of each, or a newer one.
            stagedWrite.step = .dropping((try? list.get()) ?? [], from: 0)
        }
        self.stagedWrite = stagedWrite
    }

    private mutating func write(
        _ state: StagedState, from start: Int, _ part: Int, _ mark: FlushBatch.State?, _ store: inout LiveStore
    ) -> FlushBatch {
        var batch = emptyBatch()
        if start == 0 {
            state.packList(into: &batch.rows)
            batch.staged = StagedChange(stream: StagedStream(stream: state.stream, isInForce: false))
        }
        let end = state.ahead.endOfPart(from: start, rows: part, bytesPerRow: Self.bytesPerRow)
        batch.rows.append(state.ahead, start..<end)
        guard end == state.ahead.count else {
            stagedWrite?.step = .writing(state, from: end)
            return batch
        }
        batch.rows.append(state.atSwitch, 0..<state.atSwitch.count)
        batch.staged = StagedChange(stream: StagedStream(stream: state.stream, isInForce: true))
        if let mark { batch.states.append(mark) }
        store.states.discard(state)
        stagedWrite?.step = .settling(state.pages, from: 0)
        return batch
    }

    private mutating func settle(
        _ pages: [StagedState.Page], from start: Int, _ part: Int, _ stream: StreamID, _ store: borrowing LiveStore
    ) throws -> FlushBatch {
        let states = store.tables.derived.states
        var batch = emptyBatch()
        let end = min(start + part, pages.count)
        try store.snapshot().read { transaction in
            for page in pages[start..<end] {
                guard page.changedBy > 0 else {
                    batch.rows.delete(stream, .page(page.space), page.first)
                    continue
                }
                guard let content = try states.version(page, of: stream, in: transaction) else {
                    // An earlier process moved it; or else it is lost.
                    let inPlace = try states.row(stream, page.space, first: page.first, in: transaction)
                    guard inPlace?.changedBy == page.changedBy else { throw PackedError.damaged("a page is missing") }
                    continue
                }
                batch.rows.append(stream, .page(page.space), page.first) { $0.append(contentsOf: content) }
                batch.rows.delete(stream, .kept(page.space), page.first, version: page.changedBy)
            }
        }
        if end == pages.count { finish(stream, &batch) } else { stagedWrite?.step = .settling(pages, from: end) }
        return batch
    }

    private mutating func drop(
        _ pages: [StagedState.Page], from start: Int, _ part: Int, _ stream: StreamID, _ store: borrowing LiveStore
    ) throws -> FlushBatch {
        var batch = emptyBatch()
        if start == 0 {
            // Before the versions, because landmarks need them.
            let states = store.tables.derived.states
            let ahead = try store.snapshot().read { try states.aheadOfRoot(of: stream, in: $0) }
            for row in ahead { batch.rows.delete(stream, row.space, row.number) }
        }
        let end = min(start + part, pages.count)
        for page in pages[start..<end] where page.changedBy > 0 {
            batch.rows.delete(stream, .kept(page.space), page.first, version: page.changedBy)
        }
        if end == pages.count { finish(stream, &batch) } else { stagedWrite?.step = .dropping(pages, from: end) }
        return batch
    }

    /// A version is damaged: the state is folded anew, and takes the place of all that is stored of it.
    private mutating func replaceStaged(
        _ pages: [StagedState.Page], _ stream: StreamID, _ store: inout LiveStore
    ) throws -> FlushBatch {
        var batch = emptyBatch()
        let stored = try store.pages(of: stream)
        for space in PageSpace.allCases where space != .events {
            // Where even the ends cannot be read, a rebuild is left.
            for first in (try? stored.ended(of: space)) ?? [] { batch.rows.delete(stream, .page(space), first) }
        }
        for page in pages where page.changedBy > 0 {
            batch.rows.delete(stream, .kept(page.space), page.first, version: page.changedBy)
        }
        if let known = try store.stream(stream) { _ = try store.refold(known) }
        _ = try collect(stream, store: &store, into: &batch)
        finish(stream, &batch)
        return batch
    }

    private mutating func finish(_ stream: StreamID, _ batch: inout FlushBatch) {
        batch.rows.delete(stream, .staged, 0)
        batch.staged = StagedChange(stream: nil)
        stagedWrite = nil
    }
}
