import Glibc
import Synchronization

/// Counts the forks that lead to this process, so that a child notices what it inherited.
///
/// LMDB's locks, reader slots and maps belong to the process that opened them. Asking `getpid` at each transaction
/// costs 90 ns; comparing a counter costs one.
@usableFromInline package enum ForkGuard {
    @usableFromInline static let counter = Atomic<UInt32>(0)

    private static let installation: Void = {
        _ = pthread_atfork(nil, nil, { ForkGuard.counter.wrappingAdd(1, ordering: .relaxed) })
    }()

    /// The number of forks between the first process that called ``install()`` and this one.
    @inlinable package static var forkCount: UInt32 {
        counter.load(ordering: .relaxed)
    }

    /// Starts counting; later calls do nothing.
    package static func install() {
        installation
    }
}
