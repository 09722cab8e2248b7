import Synchronization
@_spi(Operations) import Traylog

/// Stores the Merkle tree when a server starts, so that no page and no proof has to hash the whole log.
///
/// It goes on beside everything else. A server that ends before it is done goes on from there when it starts again.
package final class TreeAtStart: Sendable {
    private let underWay = Mutex(true)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ store: Store, log: ServiceLog) {
        let storing = Task(priority: .background) {
            do {
                _ = try await store.storeTree()
            } catch {
                let isWanted = !Task.isCancelled
                if isWanted { log.write([("unstored", .string("tree")), ("error", .string("\(error)"))]) }
            }
            underWay.withLock { $0 = false }
        }
        task.withLock { $0 = storing }
    }

    package var isUnderWay: Bool { underWay.withLock { $0 } }

    /// Returns when the tree is stored, or cannot be.
    package func wait() async { await task.withLock { $0 }?.value }

    /// Gives the rest up: what is stored by now stays.
    func end() async {
        task.withLock { $0 }?.cancel()
        await wait()
    }
}
