import Synchronization
import TraylogDomain
import TraylogPlatform
import TraylogWriter

/// The observers of one open store.
///
/// It wakes those whom a commit concerns.
///
/// In the writing process the writer reports its commits. In other processes a thread (``TailWatcher``) finds them, and
/// runs while there are observers.
package final class ObservationHub: Sendable {
    /// Starts watching for commits of other processes.
    package typealias Watch = @Sendable (ObservationHub) throws(ThreadRefused) -> TailWatcher

    private struct State {
        var observers = Observers()
        var watcher: TailWatcher?
        var isEnded = false
    }

    private let state = Monitor(State())
    private let isObserved = Atomic(false)
    private let hasher: IdentityHasher
    private let watch: Watch?

    /// - Parameters:
    ///   - hasher: in the writing process the store's, in other processes any.
    ///   - watch: nil in the writing process.
    package init(hasher: IdentityHasher, watch: Watch?) {
        self.hasher = hasher
        self.watch = watch
    }

    /// How many observers there are.
    package var count: Int { state.withLock { $0.observers.count } }

    /// Whether a thread watches for commits of another process.
    package var isWatching: Bool { state.withLock { $0.watcher != nil } }

    // MARK: Observers

    /// Registers an observer of a user's tray; nil when the store was closed.
    ///
    /// Every later commit that concerns the user raises its signal.
    ///
    /// - Throws: ``ThreadRefused`` where a thread has to watch another process's commits.
    package func observe(user: String) throws(ThreadRefused) -> Observation? {
        try register(user, as: hasher.identity(of: user, as: .user))
    }

    /// Registers an observer of the whole log; nil when the store was closed.
    ///
    /// - Throws: as ``observe(user:)``.
    package func observeLog() throws(ThreadRefused) -> Observation? {
        try register(nil, as: nil)
    }

    private func register(_ user: String?, as identity: Identity?) throws(ThreadRefused) -> Observation? {
        let signal = Signal()
        let isOpen = try state.withLock { (state) throws(ThreadRefused) in
            guard !state.isEnded else { return false }
            if let watch, state.watcher == nil { state.watcher = try watch(self) }
            if let user, let identity {
                state.observers.add(signal, of: identity, named: watch == nil ? nil : user)
            } else {
                state.observers.add(follower: signal)
            }
            isObserved.store(true, ordering: .sequentiallyConsistent)
            return true
        }
        guard isOpen else { return nil }
        return Observation(signal: signal, of: identity, in: self)
    }

    fileprivate func unregister(_ signal: Signal, of identity: Identity?) {
        let watcher = state.withLock { state -> TailWatcher? in
            if let identity {
                state.observers.remove(signal, of: identity)
            } else {
                state.observers.remove(follower: signal)
            }
            guard state.observers.isEmpty else { return nil }
            isObserved.store(false, ordering: .sequentiallyConsistent)
            defer { state.watcher = nil }
            return state.watcher
        }
        watcher?.stop()
    }

    /// Ends every observation, and the thread.
    ///
    /// New observers are turned away.
    package func end() {
        let (signals, watcher) = state.withLock { state in
            defer { (state.isEnded, state.watcher) = (true, nil) }
            return (state.observers.all, state.watcher)
        }
        for signal in signals { signal.end() }
        watcher?.stop()
        watcher?.join()
    }

    // MARK: Commits

    /// Whether there are observers.
    ///
    /// Asked under the lock that publishes a commit, the answer includes everybody who looks at the store after
    /// registering.
    package var hasObservers: Bool { isObserved.load(ordering: .sequentiallyConsistent) }

    /// Wakes the observers whom a commit concerns.
    ///
    /// Call it after the commit is visible.
    package func publish(_ touched: Touched) {
        let signals = state.withLock { $0.observers.signals(of: touched) }
        for signal in signals { signal.raise() }
    }

    /// Wakes everybody.
    package func wakeAll() {
        let signals = state.withLock { $0.observers.all }
        for signal in signals { signal.raise() }
    }

    /// Lends the observers to the watcher, which knows streams instead of identities.
    func withObservers<Answer: Sendable>(_ body: (inout Observers) -> Answer) -> Answer {
        state.withLock { body(&$0.observers) }
    }
}

/// One observer's registration in a hub.
///
/// Releasing it unregisters the observer.
package final class Observation: Sendable {
    package let signal: Signal
    private let hub: ObservationHub
    /// The user's; nil for the whole log.
    private let identity: Identity?

    fileprivate init(signal: Signal, of identity: Identity?, in hub: ObservationHub) {
        (self.signal, self.identity, self.hub) = (signal, identity, hub)
    }

    deinit {
        hub.unregister(signal, of: identity)
    }
}
