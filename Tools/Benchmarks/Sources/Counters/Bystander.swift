import Foundation
import Synchronization
import Traylog

/// Another user of the store, who appends and asks for a badge all the time and notes how long each took.
final class Bystander: Sendable {
    /// Seconds, the longest of each.
    struct Waits {
        var append = 0.0
        var badge = 0.0
    }

    private let waits = Mutex(Waits())
    private let isStopped = Atomic(false)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ store: BlockingStore) {
        Thread.detachNewThread { [self] in
            while !isStopped.load(ordering: .acquiring) { look(store) }
            hasEnded.signal()
        }
    }

    private func look(_ store: BlockingStore) {
        let append = Stopwatch()
        _ = try? store.perform(Command(user: "bystander", .notify(Content(title: "Meanwhile"))))
        let appended = append.seconds
        let badge = Stopwatch()
        _ = try? store.tray(of: "bystander")
        let asked = badge.seconds
        waits.withLock { $0 = Waits(append: max($0.append, appended), badge: max($0.badge, asked)) }
        Thread.sleep(forTimeInterval: 0.000_2)
    }

    func stop() -> Waits {
        isStopped.store(true, ordering: .releasing)
        hasEnded.wait()
        return waits.withLock { $0 }
    }
}
