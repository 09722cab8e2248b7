import Synchronization
import TraylogClient
import TraylogDomain

/// A clock that only moves when a test moves it.
final class ManualClock: DeviceClock {
    private struct State {
        var uptime: Int64 = 0
        var wall: Int64 = 1_800_000_000_000
        var count = 0
        var sleepers: [Int: (deadline: Int64, wake: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(deadline: Int64, wake: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var uptime: Int64 { state.withLock { $0.uptime } }
    var now: Timestamp { state.withLock { Timestamp(milliseconds: $0.wall + $0.uptime) } }
    var deadlines: [Int64] { state.withLock { $0.sleepers.values.map(\.deadline).sorted() } }

    /// Sets the wall clock alone.
    func setWall(_ milliseconds: Int64) { state.withLock { $0.wall = milliseconds - $0.uptime } }

    func sleep(until deadline: Int64) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (wake: CheckedContinuation<Void, any Error>) in
                let (isDue, watchers) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
                    guard deadline > state.uptime, !Task.isCancelled else { return (true, []) }
                    state.sleepers[number] = (deadline, wake)
                    let found = state.watchers.filter { $0.deadline == deadline }.map(\.wake)
                    state.watchers.removeAll { $0.deadline == deadline }
                    return (false, found)
                }
                if isDue { wake.resume() }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number)?.wake }?.resume(throwing: CancellationError())
        }
    }

    /// Waits until a task sleeps until a moment.
    func sleeping(until deadline: Int64) async {
        await withCheckedContinuation { (wake: CheckedContinuation<Void, Never>) in
            let isThere = state.withLock { state in
                if state.sleepers.values.contains(where: { $0.deadline == deadline }) { return true }
                state.watchers.append((deadline, wake))
                return false
            }
            if isThere { wake.resume() }
        }
    }

    func advance(to uptime: Int64) {
        let due = state.withLock { state in
            state.uptime = max(state.uptime, uptime)
            let due = state.sleepers.filter { $0.value.deadline <= uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }.map(\.wake)
        }
        for wake in due { wake.resume() }
    }

    func advance(by milliseconds: Int64) { advance(to: uptime + milliseconds) }
}
