import TraylogPlatform

extension Environment {
    /// One file at a time takes the place of another, and none when the environment closes.
    struct Succession {
        var isUnderWay = false
        var isClosing = false
        var isClosed = false
        /// Files that were replaced, and have transactions.
        var retired: [EnvironmentFile] = []
    }

    /// Waits for a succession that another thread makes.
    ///
    /// - Returns: false when the environment closes; else the caller ends it with ``endSuccession()``.
    func beginSuccession() -> Bool {
        let hasBegun = succession.wait(timeoutMilliseconds: nil, until: { !$0.isUnderWay }) { state in
            state.isUnderWay = !state.isClosing
            return state.isUnderWay
        }
        return hasBegun ?? false
    }

    func endSuccession() {
        succession.withLock { $0.isUnderWay = false }
        succession.signalAll()
    }

    /// - Returns: whether the caller has to close; false, when another one did, only after that.
    func beginClosing() -> Bool {
        let isFirst = succession.wait(
            timeoutMilliseconds: nil, until: { !$0.isUnderWay && (!$0.isClosing || $0.isClosed) }
        ) { state in
            precondition(
                !state.retired.contains { $0.gate.holdsThisThread() },
                "A store cannot be closed inside one of its transactions.")
            if state.isClosing { return false }
            state.isClosing = true
            return true
        }
        return isFirst ?? false
    }

    func finishClosing() {
        succession.withLock { $0.isClosed = true }
        succession.signalAll()
    }

    /// Makes it as if it had been closed: its file belongs to its predecessor now.
    func handOver() {
        go(on: nil, nil)
    }

    /// Lets nothing begin on a file any more, and closes it in the background: unmapping gigabytes takes a while.
    func retire(_ old: EnvironmentFile, _ retirement: Retirement) {
        old.gate.retire()
        let succession = succession
        succession.withLock { $0.retired.append(old) }
        retirement.begin {
            old.gate.finishRetirement()
            // No other process opens this lock file any more, so the lock for opening is not needed.
            old.closeReplaced()
            old.gate.finishClosing()
            succession.withLock { $0.retired.removeAll { $0 === old } }
            succession.signalAll()
        }
    }

    /// The thread that will close a file that is replaced: started before the replacement, so that the system can refuse it
    /// while nothing has happened yet.
    final class Retirement: Sendable {
        private enum Order {
            case wait
            case run(@Sendable () -> Void)
            case end
        }

        private let order: Monitor<Order>

        init(of directory: String) throws(LMDBError) {
            let order = Monitor(Order.wait)
            self.order = order
            do {
                _ = try OSThread.start(name: "traylog-retire") {
                    let given = order.wait(
                        timeoutMilliseconds: nil, until: { if case .wait = $0 { false } else { true } }
                    ) {
                        order in
                        defer { order = .end }
                        return order
                    }
                    if case .run(let work)? = given { work() }
                }
            } catch {
                throw LMDBError(error, operation: "replace", path: directory)
            }
        }

        deinit { give(.end) }

        func begin(_ work: @escaping @Sendable () -> Void) { give(.run(work)) }

        private func give(_ new: Order) {
            order.withLock { order in if case .wait = order { order = new } }
            order.signalAll()
        }
    }

    func waitForRetired() {
        for file in succession.withLock({ $0.retired }) { file.gate.disregardPins() }
        _ = succession.wait(timeoutMilliseconds: nil, until: { $0.retired.isEmpty }) { _ in }
    }
}

extension Environment {
    /// Goes on with the environment that has taken the place of `old`, if one has; a millisecond.
    ///
    /// Transactions of `old` go on, this thread's too, and nobody waits for them.
    ///
    /// - Returns: whether to begin again; false when `old` is still the store's, or when the environment closes.
    /// - Throws: what keeps the new one from being found and opened.
    func follow(_ old: EnvironmentFile) throws(LMDBError) -> Bool {
        let store = StoreDirectory(path: directory)
        guard try store.current() != old.directory else { return false }
        guard beginSuccession() else { return false }
        defer { endSuccession() }
        // Another thread may have been faster.
        guard file === old else { return true }
        let retirement = try Retirement(of: directory)
        try openLock?.acquire()
        defer { openLock?.release() }
        let new = try Self.map(
            store.environmentToRead(), access: access, usesLocks: usesLocks, databases: databaseNames,
            configuration: configuration)
        new.reap()
        go(on: new, retirement)
        return true
    }
}
