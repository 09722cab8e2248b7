import TraylogPlatform

/// The store's memory behind its one lock.
///
/// Whatever is read from the file in one turn of the lock is read through one transaction (``Core/snapshot()``), begun
/// when it is first needed. It ends with the turn, unless a query takes it along (``Core/lendSnapshot()``).
final class StoreLock: Sendable {
    private let monitor: Monitor<Shared>

    init(_ shared: consuming sending Shared) {
        monitor = Monitor(shared)
    }

    func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending Shared) throws(E) -> sending R
    ) throws(E) -> sending R {
        try monitor.withLock { (shared) throws(E) in
            shared.turns &+= 1
            defer { shared.core.endSnapshot() }
            return try body(&shared)
        }
    }

    /// Waits until `ready` holds, then runs `body` in a turn of the lock.
    func wait<R>(
        until ready: (borrowing Shared) -> Bool, _ body: (inout sending Shared) -> sending R
    ) -> sending R {
        let result = monitor.wait(timeoutMilliseconds: nil, until: ready) { shared in
            defer { shared.core.endSnapshot() }
            return body(&shared)
        }
        guard let result else { preconditionFailure("A wait without a time limit ended.") }
        return result
    }

    /// Wakes every waiting thread, so that each looks at its condition again.
    func signalAll() { monitor.signalAll() }
}
