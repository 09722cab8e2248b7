import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogStates

/// The way of a state with many changed pages into the file: in several transactions, because one with all of its rows
/// would keep others waiting.
///
/// The root comes behind the pages that it needs, so the file is whole after each of them. A process that dies in
/// between leaves pages that nobody reads, and the next one writes the same again.
struct WriteInParts {
    enum Step {
        /// The flush thread is to make its rows.
        case wanted
        /// It does so, without the lock.
        case packing
        case failed(any Error)
        /// So many of the rows are written.
        case writing(RowBuffer, from: Int)
    }

    let stream: StreamID
    /// Tells one from the next.
    let number: Int
    var step = Step.wanted
    /// The state that the rows store.
    var state: FlushBatch.State?

    var isWanted: Bool { if case .wanted = step { true } else { false } }
}

/// Lets the flush thread make the rows of a state without the lock.
struct PartsOrder: Sendable {
    let number: Int
    let stream: StreamID
    let name: StreamName
    let state: TrayState
    let landmarks: [TrayState]
    let stored: StoredPages
    /// `stored` reads through this; `rows()` ends it.
    let snapshot: StoreSnapshot

    /// Ends the snapshot.
    func rows() -> Result<RowBuffer, any Error> {
        defer { snapshot.end() }
        return Result {
            var rows = RowBuffer()
            try state.pack(into: &rows, stream: stream, name: name, landmarks: landmarks, over: stored)
            return rows
        }
    }
}

extension Flusher {
    /// Beside more events than a tick appends at once, a long chain would outgrow the parts.
    private static let eventsBesideParts = 500
    /// A part has fewer rows where they are larger on average, because LMDB looks long for pages that lie side by side.
    private static let bytesPerRow = 1_024

    /// How many rows make a part: a millisecond's work or two, or more beside many events.
    private func rowsPerPart(besides events: Int, _ store: borrowing LiveStore) -> Int {
        if store.tail.count > tailEvents * 3 / 4 { return .max / 2 }
        return max(min(160, max(pagesAtOnce / 4, 1)), events)
    }

    /// Nothing can be stored before the flush thread has made the rows.
    var waitsForRows: Bool {
        switch writeInParts?.step {
        case .wanted, .packing: true
        default: false
        }
    }

    /// Begins to store a heavy state in parts, when there is one and nothing forbids it.
    ///
    /// - Returns: whether one is under way.
    mutating func beginWriteInParts(besides events: Int, _ store: borrowing LiveStore) -> Bool {
        if writeInParts != nil { return true }
        // A full tail must not wait for parts.
        guard store.tail.count <= tailEvents, let number = store.states.heavy.first,
            // What comes in faster than parts are written is better written at once.
            events <= Self.eventsBesideParts || !store.tail.long.contains(number)
        else { return false }
        writesInParts += 1
        writeInParts = WriteInParts(stream: number, number: writesInParts)
        return true
    }

    /// Hands the state that is to be stored in parts to the flush thread; nil when none waits for that.
    mutating func takeOrder(_ store: inout LiveStore) -> PartsOrder? {
        guard let writeInParts, writeInParts.isWanted else { return nil }
        do {
            guard let stream = try store.stream(writeInParts.stream) else {
                throw DamagedStates("the name of stream \(writeInParts.stream)")
            }
            guard let cached = try store.folded(stream) else {
                throw PackedError.damaged("a state that is about to be stored")
            }
            let stored = try store.pages(of: stream.number, cached)
            self.writeInParts?.state = store.beginStoring(stream, cached.state)
            self.writeInParts?.step = .packing
            return PartsOrder(
                number: writeInParts.number, stream: stream.number, name: stream.name, state: cached.state,
                landmarks: cached.landmarks, stored: stored, snapshot: try store.lendSnapshot())
        } catch {
            self.writeInParts?.step = .failed(error)
            return nil
        }
    }

    /// Takes the rows that the flush thread made, unless nobody wants them any more.
    mutating func put(_ rows: Result<RowBuffer, any Error>, of order: PartsOrder) {
        guard writeInParts?.number == order.number, waitsForRows else { return }
        switch rows {
        case .success(let rows): writeInParts?.step = .writing(rows, from: 0)
        case .failure(let error): writeInParts?.step = .failed(error)
        }
    }

    /// The next part of the state that is stored in parts; nil while the flush thread makes its rows.
    mutating func nextPart(besides events: Int, _ store: inout LiveStore) throws -> FlushBatch? {
        // Meanwhile a chain must not become longer than it was.
        if let number = store.tail.long.first, let stream = try store.stream(number) {
            _ = try store.storable(stream, events: eventsPerBatch(besides: events, store))
        }
        switch writeInParts?.step {
        case nil, .wanted, .packing: return nil
        case .failed(let error):
            writeInParts = nil
            throw error
        case .writing(let rows, let start):
            var batch = emptyBatch()
            let end = rows.endOfPart(
                from: start, rows: rowsPerPart(besides: events, store), bytesPerRow: Self.bytesPerRow)
            batch.rows.append(rows, start..<end)
            if end < rows.count {
                writeInParts?.step = .writing(rows, from: end)
            } else {
                batch.states += [writeInParts?.state].compactMap(\.self)
                store.states.discard(rows)
                writeInParts = nil
            }
            return batch
        }
    }
}
