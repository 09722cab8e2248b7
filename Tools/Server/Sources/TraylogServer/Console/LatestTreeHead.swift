import Synchronization
import Traylog

/// The tree head that pages print: of this moment, or the last one known while a new one takes long.
///
/// Of a log whose tree was never stored the first one takes seconds for millions of events. Only the page that shows nothing else
/// waits for it.
final class LatestTreeHead: Sendable {
    private struct State {
        var head: TreeHead?
        var isReading = false
    }

    private let state = Mutex(State())

    /// The head, where it is there within a tenth of a second; else the last one; nil where there was none yet.
    func value(_ service: Service) async -> TreeHead? {
        let mayStart = state.withLock { state -> Bool in
            defer { state.isReading = true }
            return !state.isReading
        }
        if mayStart { Task { await read(service) } }
        for _ in 0..<50 where state.withLock({ $0.isReading }) { try? await Task.sleep(for: .milliseconds(2)) }
        return state.withLock { $0.head }
    }

    private func read(_ service: Service) async {
        await service.treeAtStart.wait()
        // A store that is too damaged for it still has pages.
        let head = try? await service.store.treeHead()
        state.withLock { state in
            if let head { state.head = head }
            state.isReading = false
        }
    }
}
