import Synchronization
@_spi(Operations) import Traylog

/// Who is on legal hold: read along the log once, and then among new events only.
///
/// Holds are rare, so it keeps few events, and an erasure has nothing to take from it: nobody who is held can be erased.
package final class Holds: Sendable {
    private struct State {
        var through = Seq.zero
        var isReading = false
        var isComplete = false
        /// By the bytes of the names, as the store tells them apart.
        var held: [[UInt8]: Event] = [:]
    }

    private let state = Mutex(State())

    /// The events that put people on hold, oldest first; nil while the log is still read for the first time.
    ///
    /// Waits a moment for what is new.
    package func latest(_ store: Store) async -> [Event]? {
        let mayStart = state.withLock { state -> Bool in
            guard !state.isReading else { return false }
            state.isReading = true
            return true
        }
        if mayStart {
            let reading = Task { await read(store) }
            if state.withLock({ $0.isComplete }) { await reading.value }
        }
        for _ in 0..<10 where state.withLock({ $0.isReading }) { try? await Task.sleep(for: .milliseconds(10)) }
        return state.withLock { state in
            state.isComplete ? state.held.values.sorted { $0.seq < $1.seq } : nil
        }
    }

    /// The event that put a person on hold; nil for somebody who is not held.
    package func hold(of user: String, _ store: Store) async throws -> Event? {
        guard let known = await latest(store) else { return try await store.upkeep.hold(of: user) }
        return known.first { $0.user.map { $0.utf8.elementsEqual(user.utf8) } ?? false }
    }

    private func read(_ store: Store) async {
        let start = state.withLock { $0.through }
        let found = try? await store.upkeep.holdChanges(after: start)
        state.withLock { state in
            state.isReading = false
            guard let found else { return }
            for event in found.events {
                guard let user = event.user else { continue }
                state.held[Array(user.utf8)] = event.kind == .held ? event : nil
            }
            (state.through, state.isComplete) = (found.through, true)
        }
    }
}
