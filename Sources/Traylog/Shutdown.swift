import TraylogDomain
import TraylogLMDB
import TraylogPlatform
import TraylogStates
import TraylogWriter

/// Closes a store: for the caller of ``Store/close()``, or on a thread once the last reference is gone.
final class Shutdown: Sendable {
    private struct State {
        /// Somebody closes the store, or has closed it.
        var isBegun = false
        /// A thread closes the store for tasks that wait.
        var hasThread = false
        var isOver = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let stop: @Sendable () -> Void
    private let directory: String
    let environment: Environment
    private let writer: Writer
    private let observer: (any StoreObserver)?
    private let state = Monitor(State())
    /// Directories of stores that background threads are closing, with the number of such stores.
    private static let underWay = Monitor<[String: Int]>([:])
    /// Released stores for which the system refused a closing thread.
    private static let deferred = Monitor<[Shutdown]>([])

    init(
        _ directory: String, _ environment: Environment, _ writer: Writer, _ observer: (any StoreObserver)?,
        _ stop: @escaping @Sendable () -> Void
    ) {
        (self.directory, self.environment, self.writer, self.observer) = (directory, environment, writer, observer)
        self.stop = stop
    }

    /// Somebody closes the store, or has closed it.
    var isBegun: Bool { state.withLock(\.isBegun) }

    /// Closes the store, and returns when it is closed.
    ///
    /// From within the store's observer, for which the store waits, it returns at once; another thread closes the store then.
    func run() {
        // The threads to wait for, and the locks to give up, belong to the process that opened it.
        guard !environment.isInherited else { return }
        guard ObserverCall.holding(writer) == nil else { return runSoon() }
        state.withLock { $0.isBegun = true }
        stop()
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for answer in waiting { answer() }
    }

    /// Has a thread close the store, and calls `answer` when it is closed.
    ///
    /// One thread does it for all callers. If the system refuses that thread, the calling thread closes the store.
    func run(_ answer: @escaping @Sendable () -> Void) {
        guard !environment.isInherited else { return answer() }
        guard ObserverCall.holding(writer) == nil else {
            runSoon()
            return answer()
        }
        let (isOver, isFirst) = state.withLock { state in
            if state.isOver { return (true, false) }
            state.waiting.append(answer)
            defer { (state.isBegun, state.hasThread) = (true, true) }
            return (false, !state.hasThread)
        }
        if isOver { return answer() }
        guard isFirst else { return }
        do {
            _ = try OSThread.start(name: "traylog-close") { self.run() }
        } catch {
            run()
        }
    }

    /// Has a thread close a store that nobody holds any more.
    ///
    /// If the system refuses one, the calling thread closes it, unless it is the store's own thread; then the next opening does.
    func runSoon() {
        guard !environment.isInherited else { return }
        let isFirst = state.withLock { state in
            defer { (state.isBegun, state.hasThread) = (true, true) }
            return !state.isBegun
        }
        guard isFirst else { return }
        Shutdown.underWay.withLock { $0[directory, default: 0] += 1 }
        do {
            _ = try OSThread.start(name: "traylog-close") { self.finish() }
        } catch {
            observer?.observe(.failed(.closing, TraylogError(error, in: directory)))
            if OSThread.isCurrent { Shutdown.deferred.withLock { $0.append(self) } } else { finish() }
        }
    }

    private func finish() {
        run()
        Shutdown.underWay.withLock { $0[directory] = $0[directory].flatMap { $0 > 1 ? $0 - 1 : nil } }
        Shutdown.underWay.signalAll()
    }

    /// Waits until no store in a directory is being closed, so that a caller who released one can open it again.
    static func finish(_ directory: String) {
        let deferred = Shutdown.deferred.withLock { deferred in
            let all = deferred
            deferred = []
            return all
        }
        for shutdown in deferred { shutdown.finish() }
        underWay.wait(timeoutMilliseconds: nil, until: { $0[directory] == nil }, { _ in })
    }
}
