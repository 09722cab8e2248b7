import Synchronization
import TraylogObservation
import TraylogQueries
import TraylogStates
import TraylogTree

/// The queries of a store, in the writing process and in others.
///
/// Every answer shows one consistent state: the state after the newest event at the time of the call. `await` these queries;
/// threads find the same names in `blocking`. While the task waits, threads of the store read, two for short queries and two
/// for long ones. A question about one user's present state needs none of them if that state is in memory and no query waits.
/// A blocking call takes as long as reading does (microseconds from memory, a few milliseconds from a cold disk) and may come
/// from any thread.
///
/// The store itself has what an app shows; ``log``, ``proofs`` and ``upkeep`` have the rest.
public protocol TrayQueries: Sendable {
    /// The source of the answers. No other module sees it, so only this library's types conform.
    @_spi(Internals) var queries: Queries { get }
}

/// Answers the queries of a store.
///
/// A class, because each query takes a reference.
@_spi(Internals) public final class Queries: Sendable {
    let source: any SnapshotSource
    let hub: ObservationHub
    let pool: WorkPool
    /// For queries that may take long, so that short ones do not wait for them.
    let longPool: WorkPool
    /// For jobs that read or write the whole store; a fifth caller waits.
    let jobs: WorkPool
    let tree = TreeTail()
    /// Whether a reader was closed whose files others still use.
    let isClosed = Atomic(false)

    init(source: any SnapshotSource, hub: ObservationHub, observer: (any StoreObserver)?) {
        pool = WorkPool(directory: source.directory, observer: observer)
        longPool = WorkPool(directory: source.directory, observer: observer)
        jobs = WorkPool(name: "traylog-job", limit: 4, directory: source.directory)
        self.source = source
        self.hub = hub
    }

    /// Answers what waits, and ends the threads.
    func closePools() {
        pool.close()
        longPool.close()
        jobs.close()
    }
}
