import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

extension Writer: RewriteHost {
    package func beginCapture(floor: UInt64, progress: () throws -> Void) throws -> CaptureStart {
        while true {
            let start = try perform { try $0.beginCapture(floor: floor) }
            try progress()
            if let start { return start }
        }
    }

    package func takeCapture<Result: Sendable>(
        _ body: @escaping @Sendable (CapturedChanges) throws -> Result
    ) throws -> Result {
        try perform { try body($0.takeCapture()) }
    }

    package func endCapture() {
        // A store that is closed by now notes nothing.
        try? perform { $0.endCapture() }
    }

    package func replaceEnvironment(
        by successor: Environment, erasing erased: StreamID?,
        fill: @escaping @Sendable (CapturedChanges, Agreement) throws -> RewrittenStore
    ) throws {
        try perform { try $0.replace(by: successor, erasing: erased, fill: fill) }
    }

    package func holdWrites() throws {
        setHoldsWrites(true)
        try perform { _ in }
    }

    package func releaseWrites() { setHoldsWrites(false) }
}

extension CopyCapture {
    /// Notes what a transaction stored of states.
    mutating func note(_ slice: Slice) {
        for state in slice.states { streams.insert(state.stream) }
        for stream in slice.names { names.append((stream.nameKey, stream.number)) }
    }
}

extension WriterLoop {
    /// Notes from now on what changes in the file, and keeps what states were right before `floor`.
    ///
    /// - Returns: nil as long as states below the floor are not stored; each call stores some.
    fileprivate mutating func beginCapture(floor: UInt64) throws -> CaptureStart? {
        try prepare()
        let (flushed, kept, isWritingStaged) = memory.withLock {
            ($0.store.record.flushedThrough, $0.store.record.floor.seq.rawValue, $0.isWritingStaged)
        }
        if isWritingStaged || (floor > kept && flushed < floor - 1) {
            try storeSliceNow()
            return nil
        }
        return memory.withLock { memory in
            memory.flusher.startAnew()
            memory.store.keptFloor = max(floor, kept)
            memory.store.capture = CopyCapture()
            return CaptureStart(
                // Some of the newest may be stored already, though the round that stores them has not ended.
                record: memory.store.record, head: memory.store.head.seq, nextStream: memory.store.directory.nextNumber)
        }
    }

    /// Ends what ``beginCapture(floor:)`` began.
    fileprivate func endCapture() {
        memory.withLock { memory in
            memory.store.capture = nil
            memory.store.keptFloor = memory.store.record.floor.seq.rawValue
        }
    }

    /// Hands over what changed since the last call, with the state of the file.
    ///
    /// - Throws: when the store was made anew from its file meanwhile, so that nobody knows what changed.
    fileprivate func takeCapture() throws -> CapturedChanges {
        try memory.withLock { memory in
            guard let changes = memory.store.capture else {
                throw StoreFailure(
                    code: .inputOutput,
                    message: "\(directory): the disk failed while the store was rewritten, and nothing was; try again")
            }
            let late = CapturedChanges(changes: changes, record: memory.store.record, head: memory.store.head)
            memory.store.capture = CopyCapture()
            return late
        }
    }

    /// Lets the successor, which holds everything and `record`, take the place of the file.
    ///
    /// - Parameter fill: writes what is missing in it, and says what the store is then.
    fileprivate mutating func replace(
        by successor: Environment, erasing erased: StreamID?,
        fill: (CapturedChanges, Agreement) throws -> RewrittenStore
    ) throws {
        try prepare()
        var finished: RewrittenStore?
        var exchanged: (head: UInt64, touched: [Identity])?
        let memory = memory
        let result = Result {
            try environment.replace(
                by: successor, beforeRename: { finished = try fill(takeCapture()) { try agree(on: $0) } },
                exchange: { goOn in
                    guard let finished else { preconditionFailure("a file is filled before it is used") }
                    let touched = memory.withLock { memory in
                        memory.store.endSnapshot()
                        goOn()
                        return memory.adopt(finished, erasing: erased)
                    }
                    exchanged = (finished.head.seq, touched)
                })
        }
        if let exchanged {
            if erased != nil { listener.erased() }
            listener.committed(through: exchanged.head, Touched(users: exchanged.touched))
        }
        try result.get()
        // What fails is tried again before the next transaction.
        try environment.finishReplacement()
    }
}

extension WriterMemory {
    /// Takes over what the new data file says, in the turn of the lock in which transactions began to begin on it.
    ///
    /// - Returns: whose trays changed.
    fileprivate mutating func adopt(_ finished: RewrittenStore, erasing erased: StreamID?) -> [Identity] {
        let movesFloor = finished.record.floor.seq != store.record.floor.seq
        store.record = finished.record
        store.keptFloor = finished.record.floor.seq.rawValue
        store.capture = nil
        // A slice that was made in advance may hold landmarks of the time before the floor.
        flusher.startAnew()
        if movesFloor { store.states.removeAll(store.directory) }
        guard finished.head.seq > store.head.seq else { return [] }
        store.appendDurable(finished.head)
        guard let erased else { return [] }
        let touched = [store.directory[erased]?.identity].compactMap { $0 }
        store.erase(erased)
        return touched
    }
}
