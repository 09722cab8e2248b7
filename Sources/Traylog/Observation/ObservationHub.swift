import Synchronization
import TraylogDomain
import TraylogPlatform

/// Where the observers of one open store are kept, and woken when a commit concerns them.
///
/// In the writing process the writer says what it committed. Elsewhere a thread finds out (``TailWatcher``), which
/// runs from the first observer to the last.
final class ObservationHub: Sendable {
    /// How to watch for commits that this process did not make.
    typealias Watch = @Sendable (ObservationHub) -> TailWatcher

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
    ///   - hasher: in the writing process that of the store, elsewhere any.
    ///   - watch: nil in the writing process.
    init(hasher: IdentityHasher, watch: Watch?) {
        self.hasher = hasher
        self.watch = watch
    }

    /// How many observers there are.
    var count: Int { state.withLock { $0.observers.count } }

    /// Whether a thread watches for commits of another process.
    var isWatching: Bool { state.withLock { $0.watcher != nil } }

    // MARK: Observers

    /// Registers an observer of a user's tray; nil when the store was closed.
    ///
    /// Whatever is committed after this returns raises its signal.
    func observe(user: String) -> Observation? {
        let identity = hasher.identity(of: user, as: .user)
        return register {
            $0.add($1, user: user, identity: identity)
        } remove: {
            $0.remove($1, identity: identity)
        }
    }

    /// Registers an observer of the whole log; nil when the store was closed.
    func observeLog() -> Observation? {
        register {
            $0.add(follower: $1)
        } remove: {
            $0.remove(follower: $1)
        }
    }

    private func register(
        _ add: (inout Observers, Signal) -> Void, remove: @escaping @Sendable (inout Observers, Signal) -> Void
    ) -> Observation? {
        let signal = Signal()
        let isOpen = state.withLock { state in
            guard !state.isEnded else { return false }
            add(&state.observers, signal)
            isObserved.store(true, ordering: .sequentiallyConsistent)
            if let watch, state.watcher == nil { state.watcher = watch(self) }
            return true
        }
        guard isOpen else { return nil }
        return Observation(signal: signal) { self.unregister { remove(&$0, signal) } }
    }

    private func unregister(_ remove: (inout Observers) -> Void) {
        let watcher = state.withLock { state -> TailWatcher? in
            remove(&state.observers)
            guard state.observers.isEmpty else { return nil }
            isObserved.store(false, ordering: .sequentiallyConsistent)
            defer { state.watcher = nil }
            return state.watcher
        }
        watcher?.stop()
    }

    /// Ends every observation, and the thread; new ones are turned away.
    func end() {
        let (signals, watcher) = state.withLock { state in
            defer { (state.isEnded, state.watcher) = (true, nil) }
            return (state.observers.all, state.watcher)
        }
        for signal in signals { signal.end() }
        watcher?.stop()
        watcher?.join()
    }

    // MARK: Commits

    /// Whether anybody would hear of a commit. Asked under the lock that publishes it, the answer is right for
    /// everybody who looks at the store after registering.
    var hasObservers: Bool { isObserved.load(ordering: .sequentiallyConsistent) }

    /// Wakes those whom a commit concerns, after it is visible.
    func publish(_ touched: Touched) {
        let signals = state.withLock { $0.observers.signals(of: touched) }
        for signal in signals { signal.raise() }
    }

    /// Wakes everybody.
    func wakeAll() {
        let signals = state.withLock { $0.observers.all }
        for signal in signals { signal.raise() }
    }

    /// Lends the observers to the watcher, which knows streams instead of identities.
    func withObservers<Answer: Sendable>(_ body: (inout Observers) -> Answer) -> Answer {
        state.withLock { body(&$0.observers) }
    }
}
