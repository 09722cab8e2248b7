import Synchronization
@_spi(Operations) import Traylog

/// How many stored trays are damaged: counted in the background, because that reads every one.
final class DamagedTrays: Sendable {
    private struct State {
        /// Nil until it was counted.
        var count: UInt64?
        var countedAt: Timestamp?
        var next = ContinuousClock.now
        var isCounting = false
    }

    /// A count is kept so long, and a hundred times as long as it took.
    private static let shortestPause = Duration.seconds(30)

    private let state = Mutex(State())

    /// Returns the result and time of the last count, nil before the first, and starts a new count when one is due.
    ///
    /// Waits for the first one a moment, which is enough for a small store.
    func latest(_ store: Store) async -> (count: UInt64?, time: Timestamp?) {
        let mayStart = state.withLock { state -> Bool in
            guard !state.isCounting, state.next <= .now else { return false }
            state.isCounting = true
            return true
        }
        if mayStart { Task { await count(store) } }
        for _ in 0..<10 where state.withLock({ $0.countedAt == nil && $0.isCounting }) {
            try? await Task.sleep(for: .milliseconds(10))
        }
        return state.withLock { ($0.count, $0.countedAt) }
    }

    private func count(_ store: Store) async {
        let start = ContinuousClock.now
        let found = try? await store.statistics().damagedStates
        state.withLock { state in
            if let found { (state.count, state.countedAt) = (found, .now) }
            state.next = .now + max(Self.shortestPause, (.now - start) * 100)
            state.isCounting = false
        }
    }
}
