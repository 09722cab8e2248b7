import TraylogLMDB
import TraylogPlatform

/// The end of a store, for whoever comes to it: the caller of ``Store/close()``, or a thread once nobody holds the store.
final class Shutdown: Sendable {
    private let stop: @Sendable () -> Void
    private let directory: String
    private let environment: Environment
    private let hasRun = Monitor(false)
    /// Directories whose stores are being closed by threads that nobody waits for, and how many by each.
    private static let underWay = Monitor<[String: Int]>([:])

    init(_ directory: String, _ environment: Environment, _ stop: @escaping @Sendable () -> Void) {
        self.directory = directory
        self.environment = environment
        self.stop = stop
    }

    func run() {
        // The threads to wait for, and the locks to give up, are those of the process that opened it.
        guard !environment.isInherited else { return }
        hasRun.withLock { $0 = true }
        stop()
    }

    /// Has a thread of its own do it.
    func runSoon() {
        guard !environment.isInherited, !hasRun.withLock(\.self) else { return }
        Shutdown.underWay.withLock { $0[directory, default: 0] += 1 }
        _ = OSThread.start(name: "traylog-close") {
            self.run()
            Shutdown.underWay.withLock { $0[self.directory] = $0[self.directory].flatMap { $0 > 1 ? $0 - 1 : nil } }
            Shutdown.underWay.signalAll()
        }
    }

    /// Waits until no store in a directory is on its way to be closed, so that whoever let go of one can open it again.
    static func finish(_ directory: String) {
        underWay.wait(timeoutMilliseconds: nil, until: { $0[directory] == nil }, { _ in })
    }
}
