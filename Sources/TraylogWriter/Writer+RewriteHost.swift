import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

extension Writer: RewriteHost {
    package func announce(floor: UInt64) throws -> StoreMoment {
        try perform { loop in
            try loop.prepare()
            let now = loop.now
            return loop.memory.withLock { memory in
                memory.store.nextFloor = floor
                return memory.store.moment(at: now)
            }
        }
    }

    package func withdrawFloor() {
        // A store that is closed by now refuses everything.
        try? perform { $0.memory.withLock { $0.store.nextFloor = 0 } }
    }

    package func announceErasure(of stream: StreamID) throws {
        try perform { loop in
            try loop.prepare()
            loop.memory.withLock { $0.store.erasing = stream }
        }
    }

    package func withdrawErasure() {
        try? perform { $0.memory.withLock { $0.store.erasing = nil } }
    }

    package func replaceEnvironment(
        by successor: Environment, erasing erased: StreamID?,
        fill: @escaping @Sendable (StoreMoment, Agreement) throws -> Void, onExchange: @escaping @Sendable () -> Void
    ) throws {
        try perform { try $0.replace(by: successor, erasing: erased, fill: fill, onExchange: onExchange) }
    }

    package func holdWrites() throws {
        setHoldsWrites(true)
        try perform { _ in }
    }

    package func releaseWrites() { setHoldsWrites(false) }
}

extension LiveStore {
    fileprivate func moment(at now: Timestamp) -> StoreMoment { StoreMoment(record: record, head: head, now: now) }
}

extension WriterLoop {
    /// Lets the successor, which holds everything, take the place of the file.
    ///
    /// Memory is made from it as at an opening, while readers go on with the old one.
    ///
    /// - Parameter fill: writes what is missing in it.
    fileprivate mutating func replace(
        by successor: Environment, erasing erased: StreamID?, fill: (StoreMoment, Agreement) throws -> Void,
        onExchange: () -> Void
    ) throws {
        try prepare()
        let (memory, environment, tables, now) = (memory, environment, tables, now)
        let (before, options, user) = memory.withLock { memory in
            (memory.store.moment(at: now), memory.options, erased.flatMap { memory.store.directory[$0]?.identity })
        }
        var next: Handover<LiveStore>?
        var exchanged: UInt64?
        let result = Result {
            try environment.replace(
                by: successor,
                beforeRename: {
                    try fill(before) { try agree(on: $0) }
                    next = Handover(try LiveStore.open(successor, tables: tables, options: options))
                },
                exchange: { goOn in
                    guard let next else { preconditionFailure("a file is filled before it is used") }
                    next.value.environment = environment
                    exchanged = memory.withLock { memory in
                        memory.store.endSnapshot()
                        onExchange()
                        goOn()
                        let old = Handover(memory.store)
                        memory.restart(with: next.value)
                        // The flush thread lets go of it, which takes a while.
                        memory.store.states.discard(old)
                        return memory.store.head.seq
                    }
                })
        }
        if let exchanged {
            memory.signalAll()
            noteDirty()
            if erased != nil { listener.erased() }
            if exchanged > before.head.seq {
                listener.committed(through: exchanged, Touched(users: user.map { [$0] } ?? []))
            }
        }
        try result.get()
        // What fails is tried again before the next transaction.
        try environment.finishReplacement()
        // An erasure looks by itself: it has not succeeded while the old file is there.
        guard erased == nil else { return }
        do { try environment.removeFormerFiles() } catch { tell(.compaction, error) }
    }
}
