import Synchronization
import TraylogPlatform

/// How far a fold on one or two threads is, and whether it is to go on.
package final class FoldWork: Sendable {
    private let all: UInt64
    private let steps = Atomic<UInt64>(0)
    private let isOver = Atomic<Bool>(false)

    /// - Parameter all: the events of the log, each of which is gathered, then folded.
    package init(all: UInt64) { self.all = all }

    /// Notes events that were gathered, or folded.
    ///
    /// - Throws: `CancellationError` when the other thread has failed, or the caller does not want to go on.
    func add(_ count: UInt64) throws {
        steps.wrappingAdd(count, ordering: .relaxed)
        if isOver.load(ordering: .relaxed) { throw CancellationError() }
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Events folded so far; one that is only gathered counts half.
    var done: UInt64 { min(steps.load(ordering: .relaxed) / 2, all) }

    /// Runs two parts at once, the second one on a thread of its own.
    ///
    /// - Throws: the error of the first part, if it has one, or else that of the second: which one that is does not
    ///   depend on which came first.
    func both<Second: Sendable>(
        _ first: () throws -> Void, _ second: @escaping @Sendable () throws -> Second
    ) throws -> Second {
        let other = Concurrent(name: "traylog-fold", second)
        do {
            try first()
        } catch {
            end()
            _ = other.result
            throw error
        }
        return try other.result.get()
    }
}
