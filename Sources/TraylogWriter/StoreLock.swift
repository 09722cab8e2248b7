import Synchronization
import TraylogPlatform
import TraylogStates

/// The store's memory behind its one lock.
///
/// Whatever is read from the file in one turn of the lock is read through one transaction (``LiveStore/snapshot()``), begun
/// when it is first needed. It ends with the turn, unless a query takes it along (``LiveStore/lendSnapshot()``).
package final class StoreLock: Sendable {
    private let monitor: Monitor<WriterMemory>
    /// Held while a damaged state is folded anew without the lock.
    let refolding = Monitor(())
    private let repair = Mutex<(@Sendable (any Error) -> Void)?>(nil)

    package init(_ memory: consuming sending WriterMemory) {
        monitor = Monitor(memory)
    }

    package func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending WriterMemory) throws(E) -> sending R
    ) throws(E) -> sending R {
        try monitor.withLock { (memory) throws(E) in
            memory.sections &+= 1
            defer { memory.store.endSnapshot() }
            return try body(&memory)
        }
    }

    /// Sets what is called with each error that damaged derived tables cause.
    package func onDamage(_ repair: @escaping @Sendable (any Error) -> Void) {
        self.repair.withLock { $0 = repair }
    }

    /// Takes note of an error that a query or a transaction ended with.
    package func note(_ error: any Error) {
        if DerivedTables.caused(error) { repair.withLock(\.self)?(error) }
    }

    /// Waits until `ready` holds, then runs `body` in a turn of the lock.
    func wait<R>(
        until ready: (borrowing WriterMemory) -> Bool, _ body: (inout sending WriterMemory) -> sending R
    ) -> sending R {
        let result = monitor.wait(timeoutMilliseconds: nil, until: ready) { memory in
            defer { memory.store.endSnapshot() }
            return body(&memory)
        }
        guard let result else { preconditionFailure("A wait without a time limit ended.") }
        return result
    }

    /// Gives waiting threads a turn: without a pause the thread that had the last turn would have the next one,
    /// because a waiting thread has to wake up first.
    func letOthersIn() { OSThread.sleep(microseconds: 20) }

    /// Wakes every waiting thread, so that each looks at its condition again.
    func signalAll() { monitor.signalAll() }
}
