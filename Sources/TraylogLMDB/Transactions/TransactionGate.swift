import TraylogPlatform

/// Counts the transactions of an environment, keeps ended read transactions for reuse, and holds new ones back while
/// the map is replaced or the environment closes.
///
/// It knows the thread of each transaction, so that a thread never waits for itself.
final class TransactionGate: Sendable {
    /// One transaction under way, or an idle read transaction.
    struct Slot {
        /// A read transaction to renew.
        var handle: ReadHandle?
        /// The thread that uses it; zero when idle.
        var owner: UInt = 0
    }

    enum Phase {
        case open, draining, closing, closed
    }

    struct State {
        var phase = Phase.open
        /// Whether another file took the place of this one: only pinned transactions begin, and what began goes on.
        var isRetired = false
        /// Work that goes on reading the file after it was replaced.
        var pins = 0
        /// Whether the file waits for it; not when the environment closes.
        var heedsPins = true
        var slots: [Slot] = []
        /// Slots with an idle read transaction, the last used one last.
        var idle: [Int] = []
        /// Slots with nothing.
        var vacant: [Int] = []
        /// Transactions under way, the writer's included.
        var active = 0
        /// Read transactions that ever began.
        var reads = 0
        /// The thread in a write transaction; zero for none.
        var writer: UInt = 0
        /// Threads that wait for the end of a transaction or for a phase.
        var waiting = 0
        /// How to end long work early that begins again after a drain; by number.
        var interrupts: [Int: @Sendable () -> Void] = [:]
        var nextInterrupt = 0
        var nextReap: Int64 = 0

        /// Nothing will begin here any more.
        var isOver: Bool { phase == .closed || isRetired }

        /// The same for a read transaction, which can be pinned.
        func isOver(for isPinned: Bool) -> Bool {
            isPinned ? phase == .closed || isRetired && phase == .closing : isOver
        }

        func holds(_ thread: UInt) -> Bool {
            writer == thread || slots.contains { $0.owner == thread }
        }
    }

    /// Why a writer was not let in; closed is also what was retired.
    enum WriterRefusal: Error {
        case closed, nested
    }

    /// Idle read transactions to keep; each occupies a reader slot of the store.
    static let maximumIdle = 64
    /// The interval at which a writer looks for readers that died.
    static let reapIntervalNanoseconds: Int64 = 30_000_000_000

    private let monitor = Monitor(State())

    /// Takes a slot for the calling thread, with an idle read transaction if there is one; nil when closed or retired.
    ///
    /// - Parameter isPinned: whether it may begin on a file that was replaced.
    func enter(isPinned: Bool = false) -> (index: Int, handle: ReadHandle?)? {
        let thread = OSThread.currentNumber
        let entered: (Int, ReadHandle?)? = monitor.withLock { state in
            guard state.phase == .open, isPinned || !state.isRetired, let index = state.idle.popLast() else {
                return nil
            }
            state.slots[index].owner = thread
            state.active += 1
            state.reads &+= 1
            return (index, state.slots[index].handle)
        }
        if let entered { return entered }
        guard let index = enterVacant(thread, isPinned: isPinned) else { return nil }
        return (index, nil)
    }

    private func enterVacant(_ thread: UInt, isPinned: Bool) -> Int? {
        // A thread inside a transaction goes on while others drain: they wait for that transaction.
        wait(until: { $0.phase == .open || $0.isOver(for: isPinned) || $0.holds(thread) }) { state in
            if state.isOver(for: isPinned) { return nil }
            let index = state.vacant.popLast() ?? state.slots.count
            if index == state.slots.count { state.slots.append(Slot()) }
            state.slots[index].owner = thread
            state.active += 1
            state.reads &+= 1
            return index
        }
    }

    /// Gives a slot back; `handle` is a reset read transaction to keep, or nil.
    ///
    /// - Returns: a read transaction too many, to abort.
    func leave(_ index: Int, keeping handle: ReadHandle?) -> ReadHandle? {
        let (surplus, mustSignal) = monitor.withLock { state in
            let keeps = handle != nil && state.idle.count < Self.maximumIdle
            state.slots[index] = Slot(handle: keeps ? handle : nil)
            if keeps { state.idle.append(index) } else { state.vacant.append(index) }
            state.active -= 1
            return (keeps ? nil : handle, state.waiting > 0)
        }
        if mustSignal { monitor.signalAll() }
        return surplus
    }

    /// Waits for the turn of the calling thread to write.
    ///
    /// - Returns: whether it is time to look for dead readers.
    func enterWriter() -> Result<Bool, WriterRefusal> {
        let thread = OSThread.currentNumber
        let now = SystemClock.monotonicNanoseconds()
        return wait(
            until: { state in
                if state.writer == thread || state.isOver { return true }
                return state.writer == 0 && (state.phase == .open || state.holds(thread))
            }
        ) { state in
            if state.isOver { return .failure(.closed) }
            if state.writer == thread { return .failure(.nested) }
            state.writer = thread
            state.active += 1
            let reaps = now >= state.nextReap
            if reaps { state.nextReap = now + Self.reapIntervalNanoseconds }
            return .success(reaps)
        }
    }

    /// Ends the writer's turn.
    func leaveWriter() {
        let mustSignal = monitor.withLock { state in
            state.writer = 0
            state.active -= 1
            return state.waiting > 0
        }
        if mustSignal { monitor.signalAll() }
    }

    /// Runs `body` while no transaction is under way, holding new ones back.
    ///
    /// - Returns: false when the calling thread has a transaction itself, so that waiting would never end.
    func drain(_ body: () -> Void) -> Bool {
        let thread = OSThread.currentNumber
        let mayDrain: Bool? = wait(until: { $0.phase == .open || $0.phase == .closed || $0.holds(thread) }) { state in
            if state.holds(thread) { return false }
            if state.phase == .closed { return nil }
            state.phase = .draining
            return true
        }
        // A closed environment needs no map; the next attempt reports it.
        guard let mayDrain else { return true }
        guard mayDrain else { return false }
        for interrupt in monitor.withLock({ Array($0.interrupts.values) }) { interrupt() }
        wait(until: { $0.active == 0 }) { _ in }
        body()
        monitor.withLock { $0.phase = .open }
        monitor.signalAll()
        return true
    }

    /// Runs long work of a transaction that is under way, which others need not wait for: where one drains, it is interrupted.
    ///
    /// - Parameter interrupt: has `body` end early, so that the transaction ends; the caller begins anew after that. May be called
    ///   twice.
    func interruptibly<R, E: Error>(
        _ interrupt: @escaping @Sendable () -> Void, _ body: () throws(E) -> R
    ) throws(E) -> R {
        let (number, isLate) = monitor.withLock { state in
            defer { state.nextInterrupt += 1 }
            state.interrupts[state.nextInterrupt] = interrupt
            return (state.nextInterrupt, state.phase == .draining)
        }
        defer { monitor.withLock { _ = $0.interrupts.removeValue(forKey: number) } }
        // It entered before the drain began, and comes after the drain has looked.
        if isLate { interrupt() }
        return try body()
    }

    /// Stops new transactions and waits for those under way.
    ///
    /// - Returns: false when another call closes or has closed it; it is closed on return then.
    func beginClosing() -> Bool {
        let thread = OSThread.currentNumber
        let isFirst = wait(until: { $0.phase == .open || $0.phase == .closed || $0.holds(thread) }) { state in
            precondition(!state.holds(thread), "A store cannot be closed inside one of its transactions.")
            if state.phase == .closed { return false }
            state.phase = .closing
            return true
        }
        if isFirst { wait(until: { $0.active == 0 }) { _ in } }
        return isFirst
    }

    /// Lets nothing begin any more, without waiting for what goes on.
    func retire() {
        monitor.withLock { $0.isRetired = true }
        monitor.signalAll()
    }

    /// Waits for the last transaction, and the last pin, of what was retired.
    func finishRetirement() {
        wait(until: { $0.active == 0 && $0.phase == .open && ($0.pins == 0 || !$0.heedsPins) }) { $0.phase = .closing }
    }

    func pin() { monitor.withLock { $0.pins += 1 } }

    func unpin() {
        monitor.withLock { $0.pins -= 1 }
        monitor.signalAll()
    }

    /// Lets pins hold nothing any more, because the environment closes.
    func disregardPins() {
        monitor.withLock { $0.heedsPins = false }
        monitor.signalAll()
    }

    /// Read transactions that ever began.
    var reads: Int { monitor.withLock { $0.reads } }

    /// Whether the calling thread is inside of a transaction.
    func holdsThisThread() -> Bool {
        let thread = OSThread.currentNumber
        return monitor.withLock { $0.holds(thread) }
    }

    /// Gives away the idle read transactions, permanently.
    func takeIdleHandles(_ body: (ReadHandle) -> Void) {
        monitor.withLock { state in
            for slot in state.slots {
                if let handle = slot.handle { body(handle) }
            }
            state.slots = []
            state.idle = []
            state.vacant = []
        }
    }

    func finishClosing() {
        monitor.withLock { $0.phase = .closed }
        monitor.signalAll()
    }

    private func wait<R>(
        until ready: (borrowing State) -> Bool, _ body: (inout sending State) -> sending R
    ) -> sending R {
        monitor.withLock { $0.waiting += 1 }
        let result = monitor.wait(timeoutMilliseconds: nil, until: ready) { state in
            state.waiting -= 1
            return body(&state)
        }
        guard let result else { preconditionFailure("A wait without a time limit ended.") }
        return result
    }
}
